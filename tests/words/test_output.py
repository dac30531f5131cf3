"""What is kept of what commands print."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from bot.output import Tail, merged


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 40))
def test_a_tail_is_the_end_of_all_that_was_written(texts, size):
    tail = Tail(size)
    for text in texts:
        assert tail.write(text) == len(text)
    assert tail.text() == "".join(texts)[-size:]


def test_a_tail_never_holds_much_more_than_it_keeps():
    tail = Tail(10)
    for _ in range(1000):
        tail.write("x" * 7)
    assert sum(map(len, tail._parts)) <= 27


def test_both_streams_are_read_in_the_order_in_which_they_were_written():
    argv = merged(("sh", "-c", "echo one; echo two >&2; echo three; exit 3", "a word", "$HOME"))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("one\ntwo\nthree\n", "", 3)


def test_words_reach_the_command_unchanged():
    argv = merged(("printf", "%s\\n", "$HOME", "a b", "'q'", ""))
    assert subprocess.run(argv, capture_output=True, text=True, check=False).stdout == "$HOME\na b\n'q'\n\n"
