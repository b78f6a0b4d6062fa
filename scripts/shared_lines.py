#!/usr/bin/env python3
"""Counts the cache lines that several workers write: what would keep a workload from scaling, also on machines with few cores.

  scripts/shared_lines.py [--workers=1,2,4,8,16] [--places=10] -- build/check/granary bench ycsb --workers={workers} --seconds=100000 ...

PROGRAM is run once for each number of workers, which takes the place of {workers} in its arguments, and {directory} is an empty folder. It runs
under `valgrind --tool=lackey`, which prints each access to memory, a hundred to a thousand times slower than without, until each worker
has made the transactions that are counted. Then it is ended, so its own --seconds may be as long as it likes, and its periods (--epoch_ms)
should be longer, too. Threads that have called the function --begin are workers from then on; each call of --mark ends a transaction.

Valgrind runs one thread at a time, for many transactions. Here the workers' accesses are merged as if each had a core of its
own and all transactions took equally long. So the counts depend neither on how many cores there are nor on how threads took turns. What is
not seen is how often workers wait for each other, as they hardly meet. Each transaction counts once for each line it accesses: as a
store if it stores there at all. A store counts if the last store to its line of 64 bytes was another worker's; a load counts if so
was the last one, and the worker has not loaded the line since. Both have to fetch the line from that worker's core.

Prints a table in Markdown: for each 1000 transactions the stores and loads that count, by kind of the code, and how many lines are stored
to by several workers. With --places it tells before for each number of workers which functions store to them most often.
"""

import argparse
import collections
import fcntl
import heapq
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

LINE = 64
PIPE_BYTES = 1 << 20
BEGIN = "granary::bench::WorkerThread::begin_measurement("
COMMIT = "granary::cc::commit_alone("
# The kind of an access is that of the innermost function around it whose file is below one of these.
KINDS = (
    ("src/record/", "records"),
    ("src/cc/", "records"),
    ("kvstore/", "index nodes"),
    ("src/epoch/", "epochs"),
    ("src/memory/", "allocator"),
    ("src/log/", "log"),
    ("src/txn/", "worker"),
    ("src/db/", "worker"),
    ("bench/", "benchmark"),
)


class Program:
    """An executable file with symbols."""

    def __init__(self, path):
        self.path = path
        self.known = {}  # place: [(function, file)], innermost first

    def beginning_of(self, function):
        """The place of the function whose name begins so. Places are those in the file."""
        for line in self._tell("nm", "-C", self.path).splitlines():
            words = line.split(maxsplit=2)
            if len(words) == 3 and words[1] in "tT" and words[2].startswith(function):
                return int(words[0], 16)
        sys.exit(f"shared_lines.py: {self.path} has no function {function}...")

    def text(self):
        """The places of its own code, without stubs of libraries."""
        begin, size = re.search(r" \.text +PROGBITS +(\w+) \w+ (\w+)", self._tell("readelf", "-SW", self.path)).groups()
        return range(int(begin, 16), int(begin, 16) + int(size, 16))

    def learn(self, places):
        wanted = [hex(place) for place in places if place not in self.known]
        if not wanted:
            return
        told = self._tell("addr2line", "-e", self.path, "-a", "-i", "-f", "-C", given="\n".join(wanted))
        for one in re.split(r"^0x", told, flags=re.MULTILINE)[1:]:
            place, *lines = one.splitlines()
            self.known[int(place, 16)] = list(zip(lines[::2], lines[1::2]))

    def kind(self, place):
        for _, file in self.known[place]:
            for folder, kind in KINDS:
                if f"/{folder}" in file or file.startswith(folder):
                    return kind
        return "other"

    def name(self, place):
        """The innermost function that is neither the standard library's nor of src/base."""
        own = [(function, file) for function, file in self.known[place] if "src/base/" not in file and "/usr/" not in file]
        function, file = (own or self.known[place])[0]
        function = function.replace("(anonymous namespace)::", "").partition("(")[0]
        return f"{function} ({pathlib.Path(file.partition(' ')[0]).name})"

    @staticmethod
    def _tell(*command, given=None):
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


class Thread:
    """The transactions of a thread. Each is {line: (stores, place)}, in the order of the first accesses."""

    def __init__(self):
        self.place = 0  # of the newest access of the program's own code: a library's are taken for those of their callers
        self.current = None
        self.transactions = []

    def begin(self):
        self.current = {}

    def end_transaction(self):
        if self.current is not None:
            self.transactions.append(self.current)
            self.current = {}


class Reader:
    """Takes in what valgrind prints: instructions, the accesses of each, and which thread goes on."""

    def __init__(self, begin, mark, text, base):
        self.begin = b"I  %08x," % (begin + base)
        mark = b"I  %08x," % (mark + base)
        self.text = text
        self.base = base
        self.threads = collections.defaultdict(Thread)
        self.running = self.threads[1]
        self.begun = False
        self.rest = b""
        self.pattern = re.compile(
            rb"SCHED\[(\d+)\]:  acquired lock|(" + self.begin + b")|(" + mark + rb")|I  (\w+),\d+\n((?: [LSM] \w+,\d+\n)+)"
        )

    def take(self, data):
        data = self.rest + data
        end = data.rfind(b"\nI ") + 1  # an instruction is whole when the next one has begun
        self.rest = data[end:]
        data = data[:end]
        self.begun = self.begun or self.begin in data
        if self.begun:
            self._count(data)
        else:
            for number in re.findall(rb"SCHED\[(\d+)\]:  acquired lock", data)[-1:]:
                self.running = self.threads[int(number)]

    def _count(self, data):
        thread = self.running
        for found in self.pattern.finditer(data):
            number, begin, mark, instruction, accesses = found.groups()
            if accesses:
                place = int(instruction, 16) - self.base
                if place in self.text:
                    thread.place = place
                if thread.current is not None:
                    self._note(thread, accesses)
            elif mark:
                thread.end_transaction()
            elif begin:
                thread.begin()
            else:
                thread = self.running = self.threads[int(number)]

    @staticmethod
    def _note(thread, accesses):
        lines = thread.current
        for access in accesses.splitlines():
            address, size = access[3:].split(b",")
            begin = int(address, 16)
            stores = access[1] != ord("L")
            for line in range(begin // LINE, (begin + int(size) - 1) // LINE + 1):
                known = lines.get(line)
                if known is None:
                    lines[line] = (stores, thread.place)
                elif stores and not known[0]:
                    lines[line] = (True, thread.place)

    def fewest(self, workers):
        """How many whole transactions each of so many threads has at least."""
        most = sorted((len(thread.transactions) for thread in self.threads.values()), reverse=True)
        return most[workers - 1] if len(most) >= workers else 0


def loaded_at(process, path):
    """Where valgrind has loaded the program: its file's beginning is there."""
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[5].strip() == os.path.realpath(path) and int(words[2], 16) == 0:
                return int(words[0].partition("-")[0], 16)
    sys.exit(f"shared_lines.py: valgrind has not loaded {path}")


def run(program, command, marks, workers, skipped, counted):
    """Runs the program until so many workers have made their transactions, and returns the counted ones of each."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    valgrind = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--trace-sched=yes", "--fair-sched=yes", f"--log-fd={writing}"]
    reader = None
    with subprocess.Popen([*valgrind, *command], pass_fds=[writing], stdout=subprocess.DEVNULL) as process:
        os.close(writing)
        try:
            with open(reading, "rb", buffering=0) as trace:
                while data := trace.read(PIPE_BYTES):
                    if len(data) < PIPE_BYTES // 2:
                        time.sleep(0.02)  # otherwise each line that valgrind writes would wake this process
                    if reader is None and b"\nI " in data:
                        places = map(program.beginning_of, marks)
                        reader = Reader(*places, program.text(), loaded_at(process, program.path))
                    if reader is not None:
                        reader.take(data)
                        if reader.fewest(workers) >= skipped + counted:
                            break
                else:
                    process.wait()
        finally:
            process.kill()
    if reader is None or reader.fewest(workers) < skipped + counted:
        text = f"{' '.join(command)} ended (exit code {process.returncode}) before {workers} workers had made {skipped + counted} transactions"
        sys.exit(f"shared_lines.py: {text}")
    marked = sorted(reader.threads.values(), key=lambda thread: -len(thread.transactions))
    return [thread.transactions[skipped : skipped + counted] for thread in marked[:workers]]


class Counts:
    """What workers with cores of their own would fetch from each other."""

    def __init__(self, workers):
        self.transactions = sum(map(len, workers))
        self.stores = collections.Counter()  # by place
        self.loads = collections.Counter()
        self.lines = set()  # that several workers store to
        streams = [self._in_time(number, number / len(workers), transactions) for number, transactions in enumerate(workers)]
        last = {}  # line: the worker that stored to it last, and those that have it since
        for _, worker, line, (stores, place) in heapq.merge(*streams, key=lambda access: access[:2]):
            writer, holders = last.get(line, (worker, ()))
            if stores:
                if writer != worker:
                    self.stores[place] += 1
                    self.lines.add(line)
                last[line] = (worker, {worker})
            elif line in last and worker not in holders:
                self.loads[place] += 1
                holders.add(worker)

    @staticmethod
    def _in_time(worker, begin, transactions):
        """The worker's accesses with their times. A transaction takes the time 1."""
        for i, lines in enumerate(transactions):
            for j, (line, access) in enumerate(lines.items()):
                yield begin + i + j / len(lines), worker, line, access

    def each_thousand(self, count):
        return 1000 * count / max(1, self.transactions)


def kinds_of(places, program):
    program.learn(places)
    kinds = collections.Counter()
    for place, count in places.items():
        kinds[program.kind(place)] += count
    return kinds


def table(results, program):
    """A table in Markdown with a column for each number of workers."""
    rows = [["workers", *map(str, results)], ["--"] * (len(results) + 1)]
    for what in ("stores", "loads"):
        kinds = [kinds_of(getattr(counts, what), program) for counts in results.values()]
        for kind in dict.fromkeys([kind for _, kind in KINDS] + ["other"]):
            if any(each[kind] for each in kinds):
                cells = [f"{counts.each_thousand(each[kind]):.1f}" for counts, each in zip(results.values(), kinds)]
                rows.append([f"{what}: {kind}", *cells])
    rows.append(["lines that several store to", *(f"{counts.each_thousand(len(counts.lines)):.1f}" for counts in results.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def numbers(text):
    """The comma-separated numbers from 1 on."""
    found = [int(word) for word in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=numbers, default="1,2,4,8,16", help="numbers of workers, in turn")
    parser.add_argument("--begin", default=BEGIN, help="the beginning of the name of a function that each worker calls before its transactions")
    parser.add_argument("--mark", default=COMMIT, help="the same of a function that each transaction calls once")
    parser.add_argument("--skip", type=int, default=20, help="transactions of each worker before those that are counted")
    parser.add_argument("--count", type=int, default=100, help="transactions of each worker that are counted")
    parser.add_argument("--places", type=int, default=0, help="how many functions to list for each number of workers")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    for needed in ("valgrind", "nm", "readelf", "addr2line"):
        if shutil.which(needed) is None:
            sys.exit(f"shared_lines.py: {needed} is missing; Debian's packages valgrind and binutils have what is needed")
    program = Program(arguments.command[0])
    results = {}
    for workers in arguments.workers:
        with tempfile.TemporaryDirectory() as directory:
            given = {"{workers}": str(workers), "{directory}": directory}
            command = [re.sub(r"\{\w+\}", lambda found: given.get(found[0], found[0]), word) for word in arguments.command]
            counts = Counts(run(program, command, (arguments.begin, arguments.mark), workers, arguments.skip, arguments.count))
        results[workers] = counts
        program.learn(counts.stores)
        names = collections.Counter()
        for place, count in counts.stores.items():
            names[f"{program.kind(place)}: {program.name(place)}"] += count
        for name, count in names.most_common(arguments.places):
            print(f"{workers} workers: {counts.each_thousand(count):8.1f} {name}", flush=True)
    print(table(results, program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
