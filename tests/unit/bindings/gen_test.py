#!/usr/bin/env python3
"""gen_test.py GEN_FOLDER API_FOLDER -- the generator, on a made-up function and on its own rules."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

GEN, API = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, GEN)
import table  # noqa: E402
import wrappers  # noqa: E402

OVERLAY = {"anytime": [], "anytime_groups": [], "silent_groups": ["quiet"], "body_of": {}, "accepts": {},
           "unchecked": {}, "at_all_ranks": {}, "blocks": {}, "unprobed": [], "received": {}, "on_requests": {}}


def parameter(name, kind, c_type, **facts):
    return dict({"name": name, "kind": kind, "dir": "in", "c_type": c_type}, **facts)


def function(name, params, **facts):
    base = {"name": name, "chapter": 3, "group": "test", "ret": "int", "has_large_count": True,
            "form": "blocking", "params": params}
    return table.Function(dict(base, **facts), 0, OVERLAY)


def text(made, large=False, bodies=()):
    return "\n".join(wrappers.Writer(made, large).lines(bodies))


KETTLE = [
    parameter("buf", "BUFFER", "const void *", accepts=["MPI_IN_PLACE"]),
    parameter("count", "POLYXFER_NUM_ELEM_NNI", "int", c_type_large="MPI_Count"),
    parameter("lengths", "POLYXFER_NUM_ELEM_NNI", "const int []", length="nproc(comm)",
              c_type_large="const MPI_Count []"),
    parameter("type", "DATATYPE", "MPI_Datatype"),
    parameter("dest", "RANK", "int", accepts=["MPI_PROC_NULL"]),
    parameter("comm", "COMMUNICATOR", "MPI_Comm"),
    parameter("size", "POLYNUM_BYTES", "int *", c_type_large="MPI_Count *", dir="out"),
]


class Generator(unittest.TestCase):
    def test_a_function_without_body_raises_unsupported(self):
        made = text(function("MPI_Kettle", KETTLE))
        self.assertIn("call.unsupported(comm_of(comm))", made)
        self.assertIn('alias("PMPI_Kettle")', made)

    def test_without_a_body_a_window_or_file_is_looked_at_first(self):
        window = parameter("win", "WINDOW", "MPI_Win")
        file = parameter("fh", "FILE", "MPI_File *", dir="inout")
        made = text(function("MPI_Kettle", [window, file]))
        self.assertIn('good_window(window_of(win), win, "win")', made)
        self.assertIn('good_file(file_of(*fh), *fh, "fh")', made)
        self.assertLess(made.index("good_file("), made.index("call.unsupported_on_files("))
        null = parameter("fh", "FILE", "MPI_File", accepts=["MPI_FILE_NULL"])
        self.assertIn("good_file_or_null(", text(function("MPI_Kettle", [null])))

    def test_without_a_body_an_error_on_files_goes_to_their_handler(self):
        made = text(function("MPI_Kettle", [parameter("fh", "FILE", "MPI_File *", dir="out"),
                                            parameter("comm", "COMMUNICATOR", "MPI_Comm")]))
        self.assertIn("*fh = MPI_FILE_NULL;", made)
        self.assertIn("call.unsupported_on_files()", made)
        self.assertIn("call.unsupported_on_files()", text(function("MPI_Kettle", [], group="io")))

    def test_a_silent_group_only_returns_a_code(self):
        self.assertIn("MPI_T_ERR_NOT_SUPPORTED", text(function("MPI_K", [], group="quiet")))

    def test_checks_follow_from_kinds(self):
        made = text(function("MPI_Kettle", KETTLE), bodies={"kettle"})
        for check in ('good_comm(comm_object, comm, "comm")', "good_rank(dest, comm_object, false, true)",
                      'good_number(count, Code::count, "count")', 'good_pointer(size, "size")',
                      "(is_in_place(buf) ||"):
            self.assertIn(check, made)
        self.assertLess(made.index("good_comm("), made.index("good_rank("))

    def test_the_small_form_widens_and_narrows_and_the_large_form_does_not(self):
        made = function("MPI_Kettle", KETTLE)
        self.assertIn("*size = narrow(size_wide)", text(made, bodies={"kettle"}))
        self.assertNotIn("narrow", text(made, True, {"kettle"}))
        self.assertIn("const WidenedCounts lengths_wide(lengths,", text(made, bodies={"kettle"}))

    def test_the_name_changes_nothing_but_the_name(self):
        one = text(function("MPI_Kettle", KETTLE), bodies={"kettle"})
        two = text(function("MPI_Teapot", KETTLE), bodies={"teapot"})
        self.assertEqual(one, two.replace("Teapot", "Kettle").replace("teapot", "kettle"))

    def test_no_code_of_the_generator_speaks_of_a_function_by_name(self):
        names = {f.name for f in table.Table(API).functions}
        for path in sorted(os.listdir(GEN)):
            if path.endswith(".py"):
                with open(os.path.join(GEN, path)) as stream:
                    words = set(re.findall(r"\bMPI_[A-Z][a-z]\w+", stream.read()))
                self.assertEqual(words & names, set(), path)

    def test_the_generator_stays_small(self):
        lines = 0
        for path in os.listdir(GEN):
            if path.endswith(".py"):
                with open(os.path.join(GEN, path)) as stream:
                    lines += len(stream.readlines())
        self.assertLess(lines, 1500)

    def test_check_notices_a_changed_header(self):
        with tempfile.TemporaryDirectory() as folder:
            header = os.path.join(folder, "mpi.h")
            subprocess.run([sys.executable, GEN + "/generate.py", API, "header", header], check=True)
            with open(header) as stream:
                right = stream.read()
            with open(header, "w") as stream:
                stream.write(right.replace("MPI_ERR_RANK = 6", "MPI_ERR_RANK = 7"))
            judged = subprocess.run([sys.executable, API + "/check.py", header],
                                    capture_output=True, text=True)
            self.assertEqual(judged.returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
