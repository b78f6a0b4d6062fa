"""Tests which files `granary figure compare` reads, what it draws, and what it refuses."""

import csv
import json
import subprocess
import unittest
import xml.etree.ElementTree

from rig import Rig

# BenchBase writes terminals and scalefactor as text.
SUMMARY = {
    "Benchmark Type": "ycsb", "DBMS Type": "POSTGRES", "DBMS Version": "15.1", "Goodput (requests/second)": 900.5,
    "Latency Distribution": {"Median Latency (microseconds)": 800}, "Throughput (requests/second)": 1000.5, "isolation":
    "TRANSACTION_SERIALIZABLE", "scalefactor": "10", "terminals": "2"
}
OURS = SUMMARY | {"DBMS Type": "granary", "Throughput (requests/second)": 4002, "terminals": 2,
                  "granary": {"throughput": {"median": 4002, "min": 3900.0, "max": 4100.0}}}
OVER_TIME = """Time (seconds),Throughput (requests/second),Average Latency (millisecond)
0,100.0,1.5
5,200.0,1.2
"""


class Compare(Rig):
    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def compare(self, code, *words):
        return self.figure(code, "compare", *words)

    def rows(self):
        with (self.out / "compare.csv").open() as file:
            return [tuple(row) for row in csv.reader(file)][1:]

    def lines_in_the_picture(self):
        root = xml.etree.ElementTree.fromstring((self.out / "compare.svg").read_text())
        groups = {}
        for group in root.iter("{http://www.w3.org/2000/svg}g"):
            if (group.get("id") or "").startswith(("line ", "paper ")):
                groups[group.get("id")] = sum(1 for each in group.iter() if each.tag.endswith("}use"))
        return groups

    def test_reports(self):
        ours, theirs = self.file("ours.json", OURS), self.file("summary.json", SUMMARY)
        more = self.file("more.json", SUMMARY | {"terminals": "1", "Throughput (requests/second)": 600})
        said = self.compare(0, ours, theirs, more)
        self.assertEqual(self.rows(), [("granary ycsb", "2.0", "4002.0", "3900.0", "4100.0"),
                                       ("POSTGRES ycsb", "1.0", "600.0", "600.0", "600.0"),
                                       ("POSTGRES ycsb", "2.0", "1000.5", "1000.5", "1000.5")])
        self.assertIn("0.25 times granary ycsb", said)
        self.assertEqual(self.lines_in_the_picture(), {"line granary ycsb": 1, "line POSTGRES ycsb": 2})

    def test_a_run_that_was_interrupted_is_refused(self):
        for name, cut_short in (("a.json", {"Final State": "INTERRUPTED"}), ("b.json", {"granary": {"interrupted": True}})):
            self.assertIn(f"{name}' is of a run that was interrupted", self.compare(2, self.file(name, OURS | cut_short)))
        self.compare(0, self.file("whole.json", OURS | {"Final State": "EXIT"}))

    def test_other_keys_and_names(self):
        self.compare(0, f"we={self.file('ours.json', OURS)}", "--x=scalefactor", "--y=Median Latency (microseconds)")
        self.assertEqual(self.rows(), [("we", "10.0", "800.0", "800.0", "800.0")])

    def test_a_figure_of_ours_beside_a_table(self):
        self.figure(0, "one", "--quick")
        other = self.file("other.csv", "series,x,y,min,max\nanother engine,1,10,9,11\nanother engine,2,15,,\n")
        said = self.compare(0, str(self.out / "one.csv"), other, "--panel=rate")
        self.assertEqual(self.lines_in_the_picture(),
                         {"line Fast": 2, "line Slow": 2, "paper Fast": 2, "line another engine": 2})
        self.assertIn(("another engine", "2.0", "15.0", "15.0", "15.0"), self.rows())
        self.assertEqual(list(dict.fromkeys(row[0] for row in self.rows())),
                         ["Fast", "Slow", "Fast (paper)", "another engine"])
        self.assertIn("Fast (paper)    x 1  19", said)

    def test_runs_over_time(self):
        self.compare(0, f"theirs={self.file('results.csv', OVER_TIME)}")
        self.assertEqual([row[:3] for row in self.rows()], [("theirs", "0.0", "100.0"), ("theirs", "5.0", "200.0")])

    def test_lines_of_one_name_stay_their_files(self):
        """Such files come of one figure on two machines. Each line is compared with its own line of the first file."""
        table = "series,x,y\nKV,1,{}\nSilo,1,{}\n"
        for folder, numbers in (("a", (100, 90)), ("b", (50, 36))):
            (self.folder / folder).mkdir()
            (self.folder / folder / "fig.csv").write_text(table.format(*numbers))
        said = self.compare(0, str(self.folder / "a/fig.csv"), str(self.folder / "b/fig.csv"))
        self.assertEqual([row[0] for row in self.rows()],
                         ["KV (a/fig.csv)", "Silo (a/fig.csv)", "KV (b/fig.csv)", "Silo (b/fig.csv)"])
        for ratio in ("0.90 times KV (a/fig.csv)", "0.50 times KV (a/fig.csv)", "0.40 times Silo (a/fig.csv)"):
            self.assertIn(ratio, said)
        self.assertEqual(len(self.lines_in_the_picture()), 4)

    def test_names_are_no_formulas(self):
        self.compare(0, self.file("a.csv", "series,x,y\n$\\frac{$,$x$,3\n"))
        self.assertEqual(self.rows()[0][:2], ("$\\frac{$", "$x$"))

    def test_output_that_nobody_takes(self):
        for words in ((), ("--help", ), ("compare", self.file("a.csv", "series,x,y\ns,1,3\n"))):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                ended = subprocess.run(self.words(*words), stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                       cwd=self.folder)
                self.assertEqual((ended.returncode, ended.stderr),
                                 (3, "granary figure: standard output could not be written: No space left on device\n"))

    def test_refusals(self):
        report = self.file("summary.json", SUMMARY)
        for words, said in [((), "FILE"), (("/nowhere", ), "'/nowhere' cannot be read"),
                            ((self.file("a", "{"), ), "is no JSON"),
                            ((report, "--y=speed"), "has no 'speed'; its keys are"),
                            ((self.file("b", "a,b\n1,2\n"), ), "its columns are 'a', 'b'"),
                            ((self.file("c", "series,x,y\na,1,two\n"), ), "line 2: y is 'two'; expected a number"),
                            ((self.file("nan", "series,x,y\na,1,nan\n"), ), "line 2: y is 'nan'; expected a number"),
                            ((self.file("less", "series,x,y,min,max\na,1,5,6,7\n"), ),
                             "line 2: y is 5, and not within min 6 and max 7"),
                            ((self.file("none", "series,x,y\n"), ), "none' has no points"),
                            ((self.file("empty", ""), ), "is no result"),
                            ((report, self.file("d", OVER_TIME)), "different x axes"),
                            ((self.file("e", "series,x,y\na,inf,1\n"), ), "line 2: x is 'inf'; expected a number, or"),
                            ((self.file("f", "series,y,x\na,1\n"), ), "line 2: x is missing"),
                            ((self.file("g", "series,x,y,y\na,1,2,3\n"), ), "has the column 'y' twice"),
                            ((self.file("h", f"series,x,y\n{'s' * 200_000},1,2\n"), ), "is no CSV: field larger"),
                            ((self.file("i", '{"a":' * 100_000), ), "is no JSON: maximum recursion"),
                            ((self.file("j", SUMMARY | {"granary": {"throughput": {}}}), ), "throughput.min is 'None'"),
                            ((report, "--panel=rate"), "--panel=rate is of use only with a figure's CSV"),
                            ((self.file("k", "series,x,y\na,1,2\n"), "--x=terminals"), "--x=terminals is of use only"),
                            ((self.file("l", "series,x,y\na,1,2\n"), "--y=rate"), "--y=rate is of use only with"),
                            ((self.file("m", "series,x,y\na,1,2\n"), ) * 2, "is given twice"),
                            ((report, "--y=isolation"), "isolation is 'TRANSACTION_SERIALIZABLE'; expected a number")]:
            with self.subTest(said=said):
                self.assertIn(said, self.compare(2, *words))
        self.figure(0, "one", "--quick")
        self.assertIn("has no panel 'x'; it has rate", self.compare(2, str(self.out / "one.csv"), "--panel=x"))


if __name__ == "__main__":
    unittest.main()
