"""GitHub-flavoured Markdown to HTML that is safe to show: markdown-it renders it, nh3 keeps what an allow-list names.

What GitHub lets through: https://github.github.com/gfm/#disallowed-raw-html-extension- and
https://github.com/gjtorikian/html-pipeline/blob/main/lib/html_pipeline/sanitization_filter.rb
"""

import nh3
from markdown_it import MarkdownIt

# fmt: off
TAGS = {
    "a", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4",
    "h5", "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "ol", "p", "picture", "pre", "q", "s", "samp",
    "source", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt",
    "ul", "var",
}
# fmt: on
ATTRIBUTES = {
    "*": {"align", "title", "dir"},
    "a": {"href"},
    "code": {"class"},
    "details": {"open"},
    "img": {"src", "alt", "width", "height"},
    "input": {"checked", "disabled"},
    "li": {"class"},
    "ol": {"start"},
    "source": {"media", "srcset"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
SCHEMES = {"http", "https", "mailto"}

_parser = MarkdownIt("gfm-like", {"linkify": True, "html": True, "breaks": True})


def render(text: str) -> str:
    """A comment's Markdown as HTML without scripts, styles, forms, event handlers or odd URLs."""
    return nh3.clean(
        _parser.render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel="nofollow noopener noreferrer",
        tag_attribute_values={"input": {"type": {"checkbox"}}},
    )
