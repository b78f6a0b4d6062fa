"""Defines the words, flags and help of the command line."""

import argparse
import re
from typing import Any

from .output import say
from .verbs import bench, deploy, logs, remove, restart, run, status

EPILOG = """\
The cluster file is the list of hosts; docs/cluster-file.md has its keys, docs/deployment.md an example from the first
command to the last. A usual day:

  cluster.sh deploy --cluster=rack.toml --package=granary-0.2.0-linux-x86_64.tar.gz
  cluster.sh check  --cluster=rack.toml
  cluster.sh start  --cluster=rack.toml
  cluster.sh status --cluster=rack.toml

Nodes whose host is this machine are reached without ssh. Others need a key or an agent for ssh (no password is asked
for) and Python 3.9. All hosts work at the same time; one that fails does not stop the others, and the table tells why.

Exit codes: 0 ok, 1 a check failed, a node did not end in order or does not serve, 2 wrong usage, 3 something did not
work on some host or the output cannot be written, 128 + N ended by signal N."""


class Parser(argparse.ArgumentParser):
    """Fails if it cannot write its help, where argparse's own parser would end as a success."""

    def print_help(self, file: Any = None) -> None:
        if file is None:
            say(self.format_help(), end="")
        else:
            super().print_help(file)


def parse(words: "list[str]") -> argparse.Namespace:
    """Returns the flags. It ends the program where --help is asked for or the words are wrong."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="cluster.sh", formatter_class=formatter, epilog=EPILOG,
                    description="Installs, starts, watches and ends the nodes of a cluster.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    common = _common()

    def add(name: str, verb: object, summary: str, description: str = "", dry: bool = True,
            nodes: bool = True) -> argparse.ArgumentParser:
        text = f"{summary[0].upper()}{summary[1:]}. {description}"
        command = commands.add_parser(name, help=summary, description=text, parents=[common], formatter_class=formatter)
        if dry:
            command.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
        if nodes:
            command.add_argument("--nodes", metavar="N,M", help="only these nodes; all if not given")
        command.set_defaults(verb=verb)
        return command

    _add_deploy(add)
    _add_runs(add)
    _add_others(add)
    own, passed_on = _split(words)
    flags = parser.parse_args(own)
    flags.rest = passed_on
    return flags


def _common() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--cluster", metavar="FILE", required=True, help="the cluster file")
    common.add_argument("--ssh-config", metavar="FILE", help="what ssh reads instead of ~/.ssh/config")
    common.add_argument("--accept-new", action="store_true",
                        help="take the key of a host that ssh has never seen; one that has changed is always refused")
    return common


def _add_deploy(add: object) -> None:
    command = add("check", status.check, "can the hosts be reached, and could they run the nodes?",
                  "Before deploy: whether each host answers. After it: `granary cluster check` for each node.",
                  dry=False)
    command.add_argument("--verbose", action="store_true", help="show what was found good, too")
    command = add("deploy", deploy.deploy, "install Granary and the cluster file on all hosts",
                  "Done twice, it does nothing the second time.\nRefused where nodes of another version run.",
                  nodes=False)
    command.add_argument("--package", metavar="FILE",
                         help="granary-VERSION-linux-x86_64.tar.gz; default: the newest in build/release")
    command.add_argument("--supervisor", choices=["auto", "own", "systemd"], default="auto",
                         help="what starts nodes again; auto: systemd where it runs and we are root, else supervisors "
                              "of our own")
    program = command.add_mutually_exclusive_group()
    program.add_argument("--program", metavar="NAME", type=_program,
                         help="an application's own node: bin/NAME of the package runs, with --cluster and --id, in "
                              "place of `granary node`; later deploys keep it")
    program.add_argument("--no-program", action="store_const", dest="program", const="",
                         help="nodes are `granary node` again, after an earlier --program")
    command.add_argument("--while-running", action="store_true",
                         help="also where another version runs: nodes take the new one when they are restarted "
                              "('restart --rolling'); nodes that the cluster file no longer has are ended")
    servers = command.add_mutually_exclusive_group()
    servers.add_argument("--with-zookeeper", action="store_true", default=None,
                         help="also set up the ZooKeeper servers of [membership] on the cluster's hosts, to try; later "
                              "deploys keep them")
    servers.add_argument("--no-zookeeper", action="store_false", dest="with_zookeeper", default=None,
                         help="the cluster has no such servers any more, after an earlier --with-zookeeper; what they "
                              "have stored stays")


def _add_runs(add: object) -> None:
    for name, verb, summary in (("start", run.start, "start all nodes, and wait until they serve"),
                                ("restart", restart.restart, "stop and start all nodes, or one after the other")):
        command = add(name, verb, summary)
        command.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=120,
                             help="how long to wait until nodes serve (120)")
        command.add_argument("--no-wait", action="store_true", help="do not wait until they serve")
        if name == "restart":
            command.add_argument("--rolling", action="store_true",
                                 help="one after the other: the next once the one before serves and nothing is owed")
            command.set_defaults(with_zookeeper=False)
    command = add("stop", run.stop, "end all nodes in order")
    command.add_argument("--with-zookeeper", action="store_true", help="also the ZooKeeper servers that deploy set up")
    command = add("kill", run.kill, "kill one node's process, as a crash would (SIGKILL)", nodes=False)
    command.add_argument("node", metavar="NODE", type=int, help="its id")


def _add_others(add: object) -> None:
    command = add("status", status.status, "how all nodes are", "Exit code 1 unless all serve.", dry=False, nodes=False)
    command.add_argument("--json", action="store_true", help="all that is known, as JSON")
    command = add("logs", logs.logs, "the last lines of nodes' logs", dry=False)
    command.add_argument("-f", "--follow", action="store_true", help="and all that come, until Ctrl-C")
    command.add_argument("--lines", metavar="N", type=_count, default=20, help="how many (20)")
    command = add("bench", bench.bench, "run a benchmark on all hosts, and show one result",
                  "The nodes must not run otherwise.\nOther flags, after NAME, are those of "
                  "`granary bench NAME`, as --workers=1 --seconds=10 --json=FILE.", nodes=False)
    command.add_argument("name", metavar="NAME", help="the benchmark, as smallbank")
    command = add("collect", logs.collect, "gather logs, states, versions and verdicts in DIR", nodes=False)
    command.add_argument("directory", metavar="DIR", help="a new directory")
    verify = command.add_mutually_exclusive_group()
    verify.add_argument("--no-verify", action="store_const", dest="verify", const="none", default="left",
                        help="without `granary log verify`, which reads all logs")
    verify.add_argument("--verify", action="store_const", const="all",
                        help="`granary log verify` also for nodes that have not ended in order; they cannot begin again, "
                             "or be recovered, meanwhile")
    for name, verb, summary in (("wipe", remove.wipe, "remove the data of all nodes"),
                                ("down", remove.down, "stop all nodes, and remove what deploy installed")):
        command = add(name, verb, summary, nodes=False)
        command.add_argument("--yes", action="store_true", help="do not ask")


def _program(text: str) -> str:
    if not re.fullmatch(r"[\w][\w.+-]*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no file's name")
    return text


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,5}(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return float(text)


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 to 999999")
    return int(text)


OF_BENCH = ("--cluster=", "--ssh-config=", "--accept-new", "--dry-run")


def _split(words: "list[str]") -> "tuple[list[str], list[str]]":
    """Returns our own words, and after `bench NAME` those that are passed on to granary. Our flags may have
    underscores, such as --dry_run, since granary's flags have them.
    """
    own, passed_on = [], []
    bench_at = words.index("bench") if "bench" in words else len(words)
    named = False
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        hyphens = name.replace("_", "-") + equals + value if word.startswith("--") else word
        if named and not hyphens.startswith(OF_BENCH):
            passed_on.append(word)
            continue
        own.append(hyphens)
        named = named or (index > bench_at and not word.startswith("-"))
    return own, passed_on
