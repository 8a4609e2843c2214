"""Sweeps: many questions, what came of each, and the folder of Parquet files that holds it.  Nothing here needs Spark."""
