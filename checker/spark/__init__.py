"""Spark: sweeps over many scenarios, and what they need of a cluster.  Nothing outside of this package imports pyspark."""
