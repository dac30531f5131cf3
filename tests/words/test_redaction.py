"""No secret leaves, and nothing that a repository prints can act in a comment."""

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.redaction import MASK, Redactor, code_block, inline, plain, prose, tail

MARKDOWN = MarkdownIt("gfm-like", {"linkify": True, "html": True})
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=9, max_size=60)
BYTES = st.binary(max_size=10)
MARKUP = (
    *("`", "``", "```", "~~~", "\n", "\r", " ", "|", "@ada", "#1", "<b>", "</details>", "<!--", "-->", "&lt;", "&#64;"),
    *("&#", "![x](y)", "[x]: http://a.b", "https://a.example", "www.a.example", "a@b.example", "*", "__", "\\", "x"),
    *("\x1b[31m", "\u202e", "\u200b", "- ", "1. ", "> ", "$x$", ":+1:"),
)
HOSTILE = st.lists(st.sampled_from(MARKUP), max_size=14).map("".join)


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_no_secret_survives_as_it_is(secret, before, after):
    assert secret not in Redactor([secret]).mask(before + secret + after)


@given(SECRETS, BYTES, BYTES)
def test_no_secret_survives_in_base64_whatever_stands_around_it(secret, before, after):
    whole = before + secret.encode() + after
    for encoded in (base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()):
        kept = Redactor([secret]).mask(encoded)
        assert MASK in kept
        pieces = [
            base64.b64decode(f"{piece}{'=' * (-len(piece) % 4)}", "-_")
            for piece in kept.split(MASK)
            if len(piece) % 4 != 1
        ]
        assert not any(secret[3:-3].encode() in piece for piece in pieces)
        assert len(kept) <= len(encoded) - (len(secret) - 4) * 4 // 3 + len(MASK)


@given(SECRETS)
def test_no_secret_survives_in_a_url_or_in_json(secret):
    mask = Redactor([secret]).mask
    for encoded in (quote(secret, safe=""), quote(secret), quote_plus(secret), json.dumps(secret)[1:-1]):
        assert mask(f"<{encoded}>") == f"<{MASK}>"
    lower = re.sub("%..", lambda code: code[0].lower(), quote(secret, safe=""))
    assert mask(f"<{lower}>") == f"<{MASK}>"


def test_a_short_secret_is_masked_in_base64_too():
    assert base64.b64encode(b"hunter").decode() not in Redactor(["hunter"]).mask("aHVudGVy")


def test_a_key_is_masked_line_by_line():
    key = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nshort\nqW9mVnZQ1x2y3z4w5v6\n-----END KEY-----\n"
    printed = "\n".join(f"key> {line}" for line in key.splitlines())
    assert Redactor([key]).mask(printed).count(MASK) == 4


def test_ordinary_words_are_not_taken_for_secrets():
    assert Redactor(["", "dev", "token"]).mask("npm run dev --token") == "npm run dev --token"


def test_the_longer_of_two_secrets_is_masked_whole():
    assert Redactor(["secret-one", "secret-one-and-more"]).mask("secret-one-and-more") == MASK


def test_a_secret_that_is_learnt_later_is_masked_from_then_on():
    redactor = Redactor()
    redactor.add("ghs_0123456789")
    assert redactor.mask("token ghs_0123456789") == f"token {MASK}"


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07click\x1b]8;;\x07", "click"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x1bPq...\x1b\\after", "after"),
        ("10 %\r50 %\r100 %\ndone\r\n", "100 %\ndone\n"),
        ("a\x00b\x07c\x7f\x9b", "abc"),
        ("safe\u202egnp.exe\u200b\ufeff\u2066", "safegnp.exe"),
        ("tag\U000e0041 half\ud83d", "tag half"),
        ("kept\ttab", "kept\ttab"),
    ],
)
def test_terminal_codes_and_invisible_characters_go(printed, read):
    assert plain(printed) == read


@given(st.text())
def test_plain_text_can_always_be_sent_and_stays_plain(text):
    cleaned = plain(text)
    cleaned.encode()
    assert plain(cleaned) == cleaned


def test_a_tail_says_what_it_left_out():
    assert tail("a\nb\nc\n", lines=2) == "… (1 lines before)\nb\nc"
    assert tail("a\nb", lines=2) == "a\nb"
    assert tail("x" * 50 + "\n" + "y" * 50, characters=60) == "… (cut)\n" + "y" * 50
    assert tail("z" * 50, characters=10) == "… (cut)\n" + "z" * 10


def rendered(markdown: str) -> str:
    return MARKDOWN.render(markdown)


@given(HOSTILE)
def test_a_fence_cannot_be_closed_by_its_content(text):
    (token,) = MARKDOWN.parse(code_block(text))
    assert token.type == "fence"
    assert token.content.rstrip("\n") == text.replace("\r", "\n").rstrip("\n") or "\r" in text


@given(HOSTILE)
def test_a_folded_log_ends_where_we_end_it(text):
    tokens = MARKDOWN.parse(f"<details>\n\n{code_block(plain(text))}\n\n</details>\n\nThe end.")
    assert [token.type for token in tokens] == [
        "html_block", "fence", "html_block", "paragraph_open", "inline", "paragraph_close",
    ]  # fmt: skip


@given(HOSTILE)
def test_a_table_cell_holds_nothing_but_text(text):
    html = rendered(f"| | |\n| --- | --- |\n| Detected | {inline(text)} |\n")
    assert html.count("<td>") == 2
    assert html.count("<tr>") == 2
    assert_inert(html)


@given(HOSTILE)
def test_words_that_begin_a_line_stay_a_line(text):
    for defused in (inline(text), prose(text)):
        html = rendered(f"{defused}\n\nThe end.")
        assert html.endswith("<p>The end.</p>\n")
        assert html.count("<p>") == 1 + bool(defused)
        assert_inert(html)


@given(HOSTILE)
def test_a_quoted_command_cannot_break_out_of_our_sentence(text):
    html = rendered(f"It fell.\n\n{prose(f'`{text}` exited with code 1.')}\n\nThe end.")
    assert html.startswith("<p>It fell.</p>\n<p>")
    assert html.endswith("</p>\n<p>The end.</p>\n")
    assert_inert(html)


def test_a_sentence_of_ours_keeps_its_code():
    assert prose("`npm ci` exited with code 1.") == "`npm ci` exited with code 1."
    assert prose("Set `PORT`, then `@ada` is not told.") == "Set `PORT`, then `@ada` is not told."
    assert rendered(prose("`npm ci` <b>@ada</b>")) == "<p><code>npm ci</code> &lt;b&gt;@\u200bada&lt;/b&gt;</p>\n"


def test_a_long_line_loses_its_middle():
    long = prose(f"`{'x' * 90_000}` exited with code 1.")
    assert len(long) < 1000
    assert long.startswith("`xxx")
    assert long.endswith("xxx` exited with code 1.")
    assert len(inline("@" * 90_000)) < 10_000


@pytest.mark.parametrize(
    ("text", "defused"),
    [
        ("GH-1", "GH&#45;&#8203;1"),
        ("gh-12", "gh&#45;&#8203;12"),
        ("$x$", "&#36;x&#36;"),
        ("a\u061cb", "ab"),
        ("a\u2028b", "ab"),
    ],
)
def test_what_only_github_makes_something_of_is_defused(text, defused):
    assert inline(text) == prose(text) == defused


def test_what_is_defused_reads_the_same():
    assert rendered(inline("a *b* `c` [d](e) &amp; f|g")) == "<p>a *b* `c` [d](e) &amp;amp; f|g</p>\n"


def assert_inert(html: str) -> None:
    """No tag that we did not write, and outside of code no mention and no issue number, as GitHub looks for them."""
    outside = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert set(re.findall(r"</?(\w+)", outside)) <= {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<!--" not in html
    assert not re.search(r"@\w|#\d", re.sub(r"<[^>]*>", "", outside))
