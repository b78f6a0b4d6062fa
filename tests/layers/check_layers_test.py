#!/usr/bin/env python3
"""The layer check finds planted violations, and nothing in a tree that keeps the rules."""

import pathlib
import tempfile
import unittest

from check_layers import Project

LIBRARIES = [
    {"name": "base", "layer": 0, "folder": "src/base", "uses": []},
    {"name": "epoch", "layer": 1, "folder": "src/epoch", "uses": ["base"]},
    {"name": "memory", "layer": 1, "folder": "src/memory", "uses": ["base"]},
    {"name": "txn", "layer": 5, "folder": "src/txn", "uses": ["base", "epoch"]},
    {"name": "db", "layer": 8, "folder": "src/db", "uses": ["base", "txn"]},
    {"name": "bench_harness", "layer": 10, "folder": "bench/harness", "uses": ["base", "db"]},
    {"name": "bench_kv", "layer": 10, "folder": "bench/kv", "uses": ["base", "bench_harness"]},
    {"name": "bench_kv_deep", "layer": 10, "folder": "bench/kv/deep", "uses": ["base"]},
    {"name": "tests/epoch", "layer": 11, "folder": "tests/epoch", "uses": ["base", "epoch"]},
]

CLEAN = {
    "include/granary/outcome.h": "#include <cstdint>\n",
    "include/granary/database.h": "#include <granary/outcome.h>\n#include <string_view>\n",
    "src/base/check.h": "#include <vector>\n#include <sys/mman.h>\n",
    "src/base/check.cc": '#include "src/base/check.h"\n#include <granary/outcome.h>\n',
    "src/epoch/epoch.h": '#include "src/base/check.h"\n',
    "src/memory/slab.h": "// Nothing is printed on stderr.\n",
    "src/base/notice.cc": 'std::fputs("granary: late", stderr);\n',
    "src/txn/context.h": '  #  include "src/epoch/epoch.h"\n',
    "src/db/engine.cc": '#include <granary/database.h>\n#include "src/txn/context.h"\n',
    "bench/harness/runner.h": '#include <fmt/core.h>\nstd::fputs("1 s", stderr);\n',
    "bench/kv/kv.cc": '#include "bench/harness/runner.h"\n',
    "bench/kv/deep/deep.h": "",
    "tests/main.cc": '#include "src/base/check.h"\n#include <gtest/gtest.h>\n',
    "tests/epoch/epoch_test.cc": '#include "src/epoch/epoch.h"\n#include "tests/epoch/helper.h"\n',
    "tests/epoch/helper.h": "",
    "examples/bank.cc": "#include <granary/granary.h>\n#include <cstdio>\n",
}

# (file, line added to it, what the complaint must say)
PLANTED = [
    ("src/base/check.cc", '#include "src/epoch/epoch.h"', "base does not declare USES epoch"),
    ("src/epoch/epoch.h", '#include "src/memory/slab.h"', "epoch does not declare USES memory"),
    ("src/epoch/epoch.h", '#include "check.h"', "no path from the repository root"),
    ("src/epoch/epoch.h", '#include "../base/check.h"', "no path from the repository root"),
    ("src/epoch/epoch.h", "#include <granary/database.h>", "for layer 8 and above"),
    ("src/epoch/epoch.h", "#include <granary/secret.h>", "no known public header"),
    ("src/db/engine.cc", '#include "src/epoch/epoch.h"', "db does not declare USES epoch"),
    ("src/txn/context.h", '#include "bench/harness/runner.h"', "txn does not declare USES bench_harness"),
    ("src/txn/context.h", '#include "tests/epoch/helper.h"', "does not declare USES tests/epoch"),
    ("bench/kv/kv.cc", '#include "src/txn/context.h"', "bench_kv does not declare USES txn"),
    ("bench/kv/kv.cc", '#include "bench/kv/deep/deep.h"', "bench_kv does not declare USES bench_kv_deep"),
    ("include/granary/database.h", '#include "src/base/check.h"', "only <granary/...>"),
    ("include/granary/database.h", "#include <fmt/core.h>", "only <granary/...>"),
    ("examples/bank.cc", "#include <granary/database.h>", "examples include <granary/granary.h>"),
    ("tests/epoch/epoch_test.cc", '#include "src/txn/context.h"', "no granary_test of this folder has USES txn"),
    ("src/epoch/epoch.h", 'std::fprintf(stderr, "late");', "does not print to stderr"),
    ("src/db/engine.cc", 'std::cerr << "late";', "does not print to stderr"),
    ("src/txn/context.h", "word & record::kLocked;", "status bits are known in"),
    ("src/db/engine.cc", "using record::kAbsent;", "status bits are known in"),
    ("src/stray/new.cc", "#include <vector>", "belongs to no declared library"),
]


def violations(files, libraries):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            place = pathlib.Path(root) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return list(Project(root, libraries).violations())


class CheckLayers(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(violations(CLEAN, LIBRARIES), [])

    def test_each_planted_violation_is_found(self):
        for path, line, expected in PLANTED:
            with self.subTest(path=path, line=line):
                files = dict(CLEAN)
                files[path] = files.get(path, "") + line + "\n"
                found = violations(files, LIBRARIES)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(path), found)
                self.assertIn(expected, found[0])

    def test_declaring_an_upper_layer_does_not_help(self):
        libraries = [dict(library) for library in LIBRARIES]
        libraries[0]["uses"] = ["epoch"]
        files = dict(CLEAN)
        files["src/base/check.cc"] += '#include "src/epoch/epoch.h"\n'
        self.assertIn("layer 0 may not include layer 1", violations(files, libraries)[0])

    def test_a_folder_may_use_that_which_it_lies_in_but_not_its_siblings(self):
        def library(name, folder, uses):
            return {"name": name, "layer": 2, "folder": folder, "uses": uses}

        libraries = [library("rdma", "rdma", []), library("shm", "rdma/shm", ["rdma", "sim"]), library("sim", "rdma/sim", [])]
        files = {"rdma/fabric.h": "", "rdma/sim/fabric.h": "", "rdma/shm/fabric.h": '#include "rdma/fabric.h"\n'}
        self.assertEqual(violations(files, libraries), [])
        files["rdma/shm/fabric.h"] = '#include "rdma/sim/fabric.h"\n'
        self.assertIn("layer 2 may not include layer 2", violations(files, libraries)[0])


if __name__ == "__main__":
    unittest.main()
