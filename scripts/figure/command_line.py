"""Defines the words, flags and help of the command line."""

import argparse
import json
import re
from pathlib import Path

EPILOG = """\
  granary figure                                     the figures there are
  granary figure silo-4 --quick                      one, in a minute or so
  granary figure silo-4 silo-5 --out=measured        two, for as long as the paper's noise asks
  granary figure --all --quick                       all, in at most 30 minutes on 2 cores
  granary figure --all --out=measured --resume       goes on where a call that ended left off
  granary figure compare measured/silo-4.csv other/summary.json --out=beside
  granary figure gallery --from=measured --out=docs  a page in Markdown of all results in a directory

DIR then has index.html, one page with all results that are there, and for each figure NAME.svg, .png, .csv and .json.
DIR/runs has the report of each run. A figure is a file, NAME.toml: docs/figure-files.md tells how to write one, and
nothing else is needed to add one. Verdicts are PASS, FAIL, or NULL where this machine or these runs cannot tell.

Exit codes: 0 all claims pass or are NULL, 1 a claim failed or a run failed its own check, 2 wrong usage, 3 something is
missing here (Python 3.11, matplotlib) or a run failed in another way, 130 interrupted."""

COMPARE_EPILOG = """\
  granary figure compare measured/silo-4.csv other/summary.json
  granary figure compare ours=a.json theirs=b.json --y="Goodput (requests/second)" --out=beside

A FILE is a report of BenchBase (summary.json) or of 'granary bench ... --json', the CSV of a figure, or another CSV
with the columns series, x and y, and perhaps min and max, or BenchBase's CSV of a run over time. LABEL= in front names
what the file has. Reports are points: their x is --x, and those of one engine and benchmark are one line. Other lines
are compared with the line of the same name in the first file, or with its first line."""

GALLERY_EPILOG = """\
  granary figure --all --quick --out=measured
  granary figure gallery --from=measured --out=docs

DIR of --out then has gallery.md and images/figures/NAME.svg. Nothing is measured. What the page says of a verdict
beside the figures measured stands with the claim in the figure's file, as 'why' (of a FAIL) and 'would_need' (of a
NULL)."""

RESULTS = "granary-figures"
THROUGHPUT = "Throughput (requests/second)"


def parse(words: "list[str]") -> argparse.Namespace:
    """Returns the flags. It ends the program where --help is asked for or the words are wrong."""
    internal, words = _internal(words)
    parsers = {"compare": _compare_parser, "gallery": _gallery_parser}
    does = words[0] if words and words[0] in parsers else ""
    flags = parsers[does]().parse_args(words[1:]) if does else _figure_parser().parse_args(words)
    flags.does, flags.granary, flags.figures = does, Path(internal["granary"]), Path(internal["figures"])
    return flags


def _internal(words: "list[str]") -> "tuple[dict[str, str], list[str]]":
    """Returns what the program `granary` passes on first, its own path and the folder of the figure files, and the
    words after them.
    """
    internal = {}
    for name in ("granary", "figures"):
        if not words or not words[0].startswith(f"--{name}="):
            raise SystemExit("run_figure.py: this is started by 'granary figure'")
        internal[name] = words[0].partition("=")[2]
        words = words[1:]
    return internal, words


def _parser(name: str, epilog: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, epilog=epilog, description=description, allow_abbrev=False,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def _figure_parser() -> argparse.ArgumentParser:
    parser = _parser("granary figure", EPILOG,
                     "Measures the papers' figures again, draws them beside the papers' points, judges their claims.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="the figures; without any, lists those there are")
    parser.add_argument("--all", action="store_true", help="all figures")
    parser.add_argument("--quick", action="store_true", help="short runs, few points")
    parser.add_argument("--resume", action="store_true", help="keeps the runs that DIR already has of this build")
    _add_out(parser)
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], type=_setting,
                        help="a variable of the figure files, such as seconds=0.5, or rounds=1")
    parser.add_argument("--noprogress", "--no-progress", action="store_true", help="no line on standard error")
    return parser


def _compare_parser() -> argparse.ArgumentParser:
    parser = _parser("granary figure compare", COMPARE_EPILOG, "Draws results of other engines beside ours.")
    parser.add_argument("files", metavar="[LABEL=]FILE", nargs="+", help="results")
    parser.add_argument("--x", help="of reports: the key of the x axis (terminals)")
    parser.add_argument("--y", help=f"of reports: the key of the y axis ({THROUGHPUT}), as of 'Latency Distribution', "
                        "too; of BenchBase's CSV of a run over time: the column")
    parser.add_argument("--panel", help="of a figure's CSV with several panels: which (the first)")
    _add_out(parser)
    return parser


def _gallery_parser() -> argparse.ArgumentParser:
    parser = _parser("granary figure gallery", GALLERY_EPILOG,
                     "Writes a page in Markdown of all figures whose results are in a directory.")
    parser.add_argument("--from", metavar="DIR", dest="results", type=Path, default=Path(RESULTS),
                        help=f"the --out of the calls that measured ({RESULTS})")
    _add_out(parser, "granary-gallery")
    return parser


def _add_out(parser: argparse.ArgumentParser, otherwise: str = RESULTS) -> None:
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path(otherwise),
                        help=f"where the results go ({otherwise})")


def _setting(text: str) -> "tuple[str, object]":
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[a-z_]+", name):
        raise argparse.ArgumentTypeError(f"'{text}'; expected NAME=VALUE")
    try:
        number = json.loads(value)
    except ValueError:
        number = value
    if name == "rounds" and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
        raise argparse.ArgumentTypeError(f"'{text}'; expected a whole number of rounds, at least 1")
    return name, number if isinstance(number, (int, float)) and not isinstance(number, bool) else value
