"""Tests `granary figure gallery`, and the page of one directory, with results that several calls have left there. It
also tests that docs/gallery.md explains what fails, in the words of the figure files.
"""

import json
import re
import unittest

from rig import FIGURE, ROOT, Rig

from figure.load import load_all

FAILS = FIGURE.replace("at_least = 1.8", 'at_least = 3\nwhy = """\nit is made up,\nsee [there](there.md#x).\n"""')
TWIN = FIGURE[FIGURE.index("[[claim]]"):].replace('"A1"', '"A2"')
DOUBTFUL = FIGURE.replace("at_least = 1.8", "at_least = 1.8\nneeds = {cores = 9999}")


class Gallery(Rig):
    def gallery(self, code=0, source=None, to="gallery"):
        out, self.out = self.out, self.folder / to
        said = self.figure(code, "gallery", f"--from={source or out}")
        self.out = out
        return said if code else (self.folder / to / "gallery.md").read_text()

    def measured(self, text, name="one", code=0):
        self.write(text, name)
        self.figure(code, name, "--quick")

    def flat(self, text):
        return " ".join(text.split())

    def test_all_of_a_directory(self):
        self.measured(FIGURE)
        self.measured(FIGURE.replace("A figure", "Another one"), "two")
        text = self.gallery()
        for words in ("2 claims pass, 0 fail, 0 are NULL", "## one", "Paper, Figure 1: Another one.",
                      "- **PASS** A1: Fast is twice as fast. (Fast/Slow at 1 = 2; wanted", "`granary figure --quick`",
                      "![two](images/figures/two.svg)", "granary made up"):
            self.assertIn(words, text)
        self.assertRegex(self.flat(text), r"measured from \d{4}-\d\d-\d\d \d\d:\d\d to \d\d:\d\d \(UTC\)")
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        for name in ("one", "two"):
            picture = self.folder / f"gallery/images/figures/{name}.svg"
            self.assertEqual(picture.read_bytes(), (self.out / f"{name}.svg").read_bytes())

    def test_one_figure_is_not_several(self):
        self.measured(FIGURE)
        out, self.out = self.out, self.folder / "gallery"
        said = self.figure(0, "gallery", f"--from={out}")
        self.assertIn("gallery.md: 1 figure; ", said)
        self.out = out

    def test_pages_of_the_machine_and_figures_that_are_missing(self):
        self.measured(FIGURE)
        self.write(FIGURE, "two")
        file = self.out / "one.json"
        result = json.loads(file.read_text())
        result["environments"] = [{"machine": {"page_kind": kind}} for kind in ("4 KiB", "2 MiB", "4 KiB")]
        file.write_text(json.dumps(result))
        text = self.flat(self.gallery())
        self.assertIn("pages: 4 KiB, 2 MiB.", text)
        self.assertIn("Not measured here: two.", text)

    def test_what_stands_with_claims_that_fail(self):
        self.measured(FAILS, code=1)
        self.assertIn("\n\nA1 fails: it is made up, see [there](there.md#x).\n", self.gallery())
        page = (self.out / "index.html").read_text()
        self.assertIn("It is made up, see there.", page)
        self.measured(FAILS + TWIN.replace("at_least = 1.8", 'at_least = 4\nwhy = "it is made up, see [there]'
                                           '(there.md#x)."'), code=1)
        self.assertIn("\n\nA1 and A2 fail: it is made up", self.gallery())

    def test_what_stands_with_claims_that_failed_and_now_cannot_tell(self):
        self.write(FAILS)
        self.figure(0, "one", "--quick", "--set", "rounds=2")
        self.assertIn("\n\nA1 has failed in other runs: it is made up, see [there](there.md#x).\n", self.gallery())
        self.assertIn("It has failed in other runs: it is made up, see there.", (self.out / "index.html").read_text())
        self.measured(DOUBTFUL + 'why = "it is made up."')
        self.assertNotIn("has failed in other runs", self.gallery())

    def test_files_that_have_changed_since_are_named(self):
        self.measured(FIGURE)
        self.assertNotIn("have changed since", self.gallery())
        for old, new in (("at_least = 1.8", "at_least = 1.9"), ('"Made up."', '"Made otherwise."'),
                         ("Fast is twice as fast.", "Fast is faster."), ("seconds = 0.1", "seconds = 0.2"),
                         ("divide = 1000", "divide = 1"), ("bench made --workers", "bench made --once --workers")):
            self.assertIn(old, FIGURE)
            self.write(FIGURE.replace(old, new))
            self.assertRegex(self.flat(self.gallery()), "have changed since they were measured, .*: one[.]")

    def test_words_of_a_claim_are_of_now(self):
        self.measured(FAILS, code=1)
        self.write(FAILS.replace("made up", "known"))
        self.assertIn("A1 fails: it is known", self.flat(self.gallery()))

    def test_claims_that_pass_need_no_words(self):
        self.measured(FIGURE.replace("at_least = 1.8", 'at_least = 1.8\nwhy = "no"\nwould_need = "nothing"'))
        self.assertNotRegex(self.gallery(), "fails:|would need (?!it)")

    def test_what_a_null_would_need(self):
        self.measured(DOUBTFUL)
        text = self.gallery()
        self.assertIn("(needs >= 9999 cores)", text)
        self.assertNotIn("A1 would need", text)
        self.measured(DOUBTFUL + 'would_need = "a machine that is made up."')
        self.assertIn("\n\nA1 would need a machine that is made up.\n", self.gallery())
        self.assertIn("It would need a machine", (self.out / "index.html").read_text())

    def test_what_more_rounds_could_tell(self):
        self.write(FIGURE.replace("rounds = 3\nvalues = [1, 2, 4]", "rounds = 9\nvalues = [1, 2, 4]"))
        self.figure(0, "one", "--quick", "--set", "rounds=2")
        self.assertIn("A1 would need the long runs: 9 rounds of 2 s instead of 2 rounds of 0.1 s.", self.gallery())
        self.figure(0, "one", "--set", "rounds=2")
        self.assertIn("A1 would need the long runs: 9 rounds of 2 s instead of 2 rounds of 2 s.", self.gallery())
        file = self.out / "one.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"rounds": 9}))
        self.assertIn("A1 would need more rounds than 9 (`--set rounds=N`).", self.gallery())

    def test_some_quick_and_some_long(self):
        self.measured(FIGURE)
        self.write(FIGURE, "two")
        self.figure(0, "two", "--set", "rounds=4", "--set", "seconds=0.3")
        text = self.gallery()
        self.assertIn("Figures whose runs were longer than quick ones say so.", self.flat(text))
        self.assertEqual(text.count("Measured in 4 rounds of 0.3 s."), 1)
        self.figure(0, "one", "--set", "seconds=0.3")
        self.assertNotIn("uick runs", self.gallery())

    def test_runs_that_failed(self):
        (self.folder / "fails").write_text("--slope=10 --workers=2 1")
        self.measured(FIGURE, code=1)
        self.assertIn("A run failed: `granary bench made --workers=2", self.gallery())

    def test_refusals(self):
        self.out.mkdir()
        self.assertIn("has no results of any figure; measure first", self.gallery(2))
        self.measured(FIGURE)
        self.write(FIGURE + TWIN)
        self.assertIn("one.json' has other claims than", self.gallery(2))
        (self.out / "one.json").write_text("{")
        self.assertIn("one.json' cannot be read", self.gallery(3))


class PageOfADirectory(Rig):
    def sections(self):
        return re.findall(r'<h2 id="(\w+)"', (self.out / "index.html").read_text())

    def test_results_of_earlier_calls_stay(self):
        self.figure(0, "one", "--quick")
        self.write(FIGURE.replace("A figure", "Another"), "two")
        self.figure(0, "two", "--quick")
        self.assertEqual(self.sections(), ["one", "two"])
        self.assertIn("2 PASS", (self.out / "index.html").read_text())
        self.figure(0, "one", "--quick")
        self.assertEqual(self.sections(), ["one", "two"])

    def test_builds_are_told_apart(self):
        self.figure(0, "one", "--quick")
        self.program.write_text(self.program.read_text() + "\n# another\n")
        self.write(FIGURE, "two")
        self.figure(0, "two", "--quick")
        builds = {json.loads((self.out / f"{name}.json").read_text())["build"][0] for name in ("one", "two")}
        self.assertEqual(len(builds), 2)
        page = (self.out / "index.html").read_text()
        for build in builds:
            self.assertEqual(page.count(build), 2, "in the page's head and in the figure's section")

    def test_files_of_others_are_left_alone(self):
        self.out.mkdir()
        (self.out / "mine.json").write_text("[1]")
        (self.out / "old.json").write_text('{"figure": "old", "claims": []}')
        self.figure(0, "one", "--quick")
        self.assertEqual(self.sections(), ["one"])


class OurGallery(unittest.TestCase):
    """Tests docs/gallery.md as it was written last."""

    def test_what_fails_is_explained_in_the_figure_files(self):
        text = (ROOT / "docs/gallery.md").read_text()
        sections = {name: " ".join(body.split()) for name, body in re.findall(r"(?ms)^## (\S+)\n(.*?)(?=^## |\Z)", text)}
        for figure in load_all(ROOT / "bench/figures"):
            self.assertTrue(figure.name in sections or re.search(rf"Not measured here:[^#]*\b{figure.name}\b", text),
                            figure.name)
            for claim in figure.claims:
                if f"**FAIL** {claim.id}:" in sections.get(figure.name, ""):
                    with self.subTest(figure=figure.name, claim=claim.id):
                        self.assertTrue(claim.why, "a claim that fails needs a 'why'")
                        self.assertIn(claim.why, sections[figure.name])


if __name__ == "__main__":
    unittest.main()
