"""What holds of the alternating bit, and what the bit is there for: `pytest examples`."""

from alternating_bit import alternating_bit


def test_words_arrive_once_and_in_order_whatever_is_lost(roamcheck):
    roamcheck.model(alternating_bit(words=3, losses=2)).holds("in-order", "all-arrive")


def test_without_the_bit_a_word_arrives_twice(roamcheck):
    roamcheck.model(alternating_bit(bit=False)).violated("in-order", within=5)
