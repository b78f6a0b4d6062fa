"""Has data as a claim's sentence has them, and data that contradict it, for claims of which no paper has numbers. Each
row is typed from the sentence, and not from the check: figure, claim, as it says, otherwise.
"""


def _order(x, **changed):
    rates = {"TICTOC": 10, "SILO": 9, "NO_WAIT": 8, "DL_DETECT": 4, "HEKATON": 6} | changed
    return {(name, x): rate for name, rate in rates.items()}


def _shares(one, five, ten):
    return {(f"{share} % d-txns", 2): rate for share, rate in ((1, one), (5, five), (10, ten))}


SENTENCES = [
    ("silo-5-6-7", "S3", {("MemSilo", 1): 10, ("MemSilo", 2): 19}, {("MemSilo", 1): 10, ("MemSilo", 2): 15}),
    ("silo-5-6-7", "S6", {("Silo", 1): 80}, {("Silo", 1): 120}),
    ("silo-5-6-7", "S6-tail", {("Silo", 1): 150}, {("Silo", 1): 170}),
    ("silo-7-epochs", "S6-epochs", {("Silo", 10): 2, ("Silo", 40): 2.4}, {("Silo", 10): 2, ("Silo", 40): 2.8}),
    ("silo-7-epochs", "S6-shorter", {("Silo+tmpfs", 10): 7, ("Silo+tmpfs", 40): 22},
     {("Silo+tmpfs", 10): 22, ("Silo+tmpfs", 40): 20}),
    ("silo-7-over-time", "S6-course", {("Silo+tmpfs", 0): 80, ("Silo+tmpfs", 0.3): 95},
     {("Silo+tmpfs", 0): 80, ("Silo+tmpfs", 0.3): 110}),
    ("silo-7-over-time", "S6-course-disk", {("Silo", 0): 80}, {("Silo", 0): 110}),
    ("silo-7-over-time", "S6-course-tail", {("Silo", 0): 150}, {("Silo", 0): 170}),
    ("silo-4", "S8", {("MemSilo", 2): 100, ("MemSilo+GlobalTID", 2): 98},
     {("MemSilo", 2): 100, ("MemSilo+GlobalTID", 2): 94}),
    ("silo-5.6", "S13", {("MemSilo", 0): 1, ("MemSilo", 4): 3.4}, {("MemSilo", 0): 1, ("MemSilo", 4): 6}),
    ("silo-8", "S10", {("MemSilo", 60): 9, ("Partitioned-Store", 60): 3},
     {("MemSilo", 60): 9, ("Partitioned-Store", 60): 9}),
    ("silo-9", "S11-two", {("MemSilo", 2): 14, ("Partitioned-Store", 2): 10},
     {("MemSilo", 2): 12, ("Partitioned-Store", 2): 10}),
    ("silo-9", "S11-flat", {("Partitioned-Store", 1): 10, ("Partitioned-Store", 2): 10.2},
     {("Partitioned-Store", 1): 10, ("Partitioned-Store", 2): 11}),
    *[("tictoc-4", claim, {("TICTOC", x): 18, ("SILO", x): 10}, {("TICTOC", x): 9, ("SILO", x): 10})
      for claim, x in (("T1", 2), ("T1-many", 80))],
    ("tictoc-4", "T1-aborts", {("TICTOC", 2): 0.3, ("SILO", 2): 0.4}, {("TICTOC", 2): 0.39, ("SILO", 2): 0.4}),
    *[(figure, claim, _order(x), _order(x, DL_DETECT=9.5))
      for figure, claim, x in (("tictoc-4", "T1-order", 2), ("tictoc-5", "T1-few-order", 1),
                               ("tictoc-8", "T3-order", 8))],
    ("tictoc-4", "T1-thrashing", _order(80), _order(80, DL_DETECT=8)),
    ("tictoc-7", "T2-hekaton", _order(8, HEKATON=8.5), _order(8, HEKATON=7.5)),
    ("tictoc-5", "T1-even", {("TICTOC", 2): 11, ("SILO", 2): 10}, {("TICTOC", 2): 12, ("SILO", 2): 10}),
    *[("tictoc-6", "T7-limit", {("HEKATON", 40): 2e6, ("TS_ALLOC", 40): 5e6},
       {("HEKATON", 40): rate, ("TS_ALLOC", 40): 5e6}) for rate in (5e4, 3e6)],
    ("tictoc-9", "T4", {("No Opts", 2): 11, ("SILO", 2): 10}, {("No Opts", 2): 9, ("SILO", 2): 10}),
    ("tictoc-9", "T4-history", {("All Opts", 2): 10.2, ("NoWait + PreAbort", 2): 10},
     {("All Opts", 2): 11, ("NoWait + PreAbort", 2): 10}),
    ("tictoc-9c", "T4-aborted", {("Aborted", "All Opts"): 10, ("Aborted", "SILO"): 20},
     {("Aborted", "All Opts"): 21, ("Aborted", "SILO"): 20}),
    ("tictoc-10", "T5-preempt", {("NoWait + PreAbort", 40): 11, ("NoWait", 40): 10},
     {("NoWait + PreAbort", 40): 10, ("NoWait", 40): 10}),
    ("tictoc-12", "T9", {("TICTOC", 40): 12, ("DTA bound", 40): 10}, {("TICTOC", 40): 10, ("DTA bound", 40): 10}),
    ("drtm-48", "D6-oracle", {("DrTM", 1): 0.28, ("Oracle", 1): 0.2}, {("DrTM", 1): 0.31, ("Oracle", 1): 0.2}),
    ("drtm-49", "D6-cache", {("DrTM-KV/$", 64): 1.05}, {("DrTM-KV/$", 64): 1.3}),
    ("drtm-49", "D6-network", {("DrTM-KV/$", 64): 27, ("Pilaf", 64): 10},
     {("DrTM-KV/$", 64): 19, ("Pilaf", 64): 10}),
    ("drtm-54", "D1", {("DrTM's locks and leases", 2): 18, ("2PC over TCP", 2): 1},
     {("DrTM's locks and leases", 2): 4, ("2PC over TCP", 2): 1}),
    ("drtm-55", "D9", {("Granary", 1): 10, ("Granary", 2): 19}, {("Granary", 1): 10, ("Granary", 2): 12}),
    ("drtm-55", "D9-more", {("Granary", 2): 10, ("Granary", 4): 9}, {("Granary", 2): 10, ("Granary", 4): 7}),
    ("drtm-56", "D2", _shares(12, 11, 10), _shares(12, 10, 11)),
    *[("drtm-56", f"D2-counted{tail}", {(f"{share} % d-txns", 2): 1.01 * share}, {(f"{share} % d-txns", 2): 4})
      for share, tail in ((1, "-1"), (5, "-5"), (10, ""))],
    ("drtm-56", "D2-network", _shares(16, 12, 10), _shares(14, 12, 10)),
    *[("drtm-56-cost", f"D2-extra-{x}", {("Granary", x): 3, ("2PC over TCP", x): 40},
       {("Granary", x): 10, ("2PC over TCP", x): 40}) for x in (1, 10, 40)],
    ("drtm-56-cost", "D2-all", {("Granary", 40): 12, ("2PC over TCP", 40): 2},
     {("Granary", 40): 9, ("2PC over TCP", 40): 2}),
    ("drtm-62", "D1-cross", {("Granary", 1): 10, ("Granary", 100): 6}, {("Granary", 1): 6, ("Granary", 100): 10}),
    ("drtm-63", "D8", {("DrTM's locks and leases", 2): 12, ("2PC over TCP", 2): 10},
     {("DrTM's locks and leases", 2): 9, ("2PC over TCP", 2): 10}),
    ("drtm-64-hot-spot", "D7", {("w/ Lease", 3): 13, ("w/o Lease", 3): 10},
     {("w/ Lease", 3): 11, ("w/o Lease", 3): 10}),
    *[("drtm-scaling", claim, {("Model, the cores of this host", x): 11, ("Measured", x): 10},
       {("Model, the cores of this host", x): 13, ("Measured", x): 10})
      for claim, x in (("D9-predicted", 2), ("D9-unseen", 4))],
    ("recovery", "D10", {("Survivors", -500): 10, ("Survivors", 400): 9},
     {("Survivors", -500): 10, ("Survivors", 400): 3}),
    ("recovery", "D10-back", {("Killed node", -500): 10, ("Killed node", 3000): 9},
     {("Killed node", -500): 10, ("Killed node", 3000): 0}),
    ("recovery-steps", "D10-recovered", {("Granary", "recovered"): 90}, {("Granary", "recovered"): 700}),
    ("recovery-steps", "D10-full", {("Granary", "90 % again"): 1500}, {("Granary", "90 % again"): 2700}),
    ("recovery-steps", "D10-dip", {("Granary", "below half"): 50}, {("Granary", "below half"): 150}),
    ("recovery-steps", "D10-silence", {("Granary", "longest silence"): 35}, {("Granary", "longest silence"): 150}),
]
