"""The interface table as objects: functions, parameters, and what C++ the bodies see.

Everything here follows from a parameter's kind, direction and C type. What is odd about a
function is an attribute of it in overlay.json. No code may look at a function's name.
"""
import json
import os
import re

# Handle kinds that a body receives as objects: C++ type, and how a handle becomes one.
OBJECTS = {
    "COMMUNICATOR": ("comm::Communicator", "comm_of", "comm"),
    "DATATYPE": ("types::Datatype", "type_of", "type"),
    "OPERATION": ("types::Op", "op_of", "op"),
    "GROUP": ("comm::Group", "group_of", "group"),
    "ERRHANDLER": ("Errhandler", "errhandler_of", "errhandler"),
    "INFO": ("Info", "info_of", "info"),
    "SESSION": ("Session", "session_of", "session"),
    "WINDOW": ("Object", "window_of", "window"),
    "FILE": ("Object", "file_of", "file"),
}
# Of these, kinds that nothing makes yet: a handle of one is looked at where a function has no body.
UNMADE = ("WINDOW", "FILE")
# Kinds of numbers below zero that mean nothing, besides those that say so (_NNI).
NATURAL = ("ARRAY_LENGTH", "ARRAY_LENGTH_PI", "PARTITION", "POLYDTYPE_NUM_ELEM",
           "POLYDTYPE_PACK_SIZE", "POLYNUM_PARAM_VALUES")


class Param:
    def __init__(self, facts, accepted):
        self.name = facts["name"]
        self.kind = facts["kind"]
        self.direction = facts.get("dir", "in")
        self.small_type = facts.get("c_type")
        self.large_type = facts.get("c_type_large", self.small_type)
        self.large_only = bool(facts.get("large_only"))
        self.length = facts.get("length")
        self.root_only = bool(facts.get("root_only"))
        self.accepts = facts.get("accepts", []) + accepted
        self.callback = facts.get("callback")
        self.unchecked = False  # it matters in some calls only: the body knows when

    def c_type(self, large):
        return self.large_type if large else self.small_type

    @property
    def is_array(self):
        return "[" in self.small_type if self.small_type else False

    @property
    def is_object(self):
        """A handle passed by value that the body sees as an object."""
        by_value = self.small_type and not re.search(r"[*\[]", self.small_type)
        return self.kind in OBJECTS and self.direction == "in" and by_value

    @property
    def null(self):
        """Of a handle: MPI_Comm's is MPI_COMM_NULL."""
        return self.small_type.rstrip(" *").upper() + "_NULL"

    @property
    def may_be_null_handle(self):
        return any(a.endswith("_NULL") for a in self.accepts)

    @property
    def is_count_array(self):
        """An integer array that bodies see as a span of 64-bit numbers."""
        return (self.is_array and self.direction == "in" and self.kind.startswith("POLY")
                and bool(self.length))

    @property
    def is_narrow(self):
        """An int in the small form, 64 bits in the large form."""
        return (self.small_type or "").replace("const ", "").split(" ")[0] == "int" \
            and self.large_type != self.small_type

    @property
    def is_natural(self):
        """A number, or an array of numbers, that must not be below zero."""
        if self.direction != "in" or "below zero" in self.accepts:
            return False
        return self.kind in NATURAL or (self.kind.endswith("_NNI") and self.kind != "RANK_NNI")

    @property
    def is_pointer_out(self):
        return self.direction in ("out", "inout") and not self.is_array \
            and (self.small_type or self.large_type).endswith("*")


class Function:
    def __init__(self, facts, index, overlay):
        self.name = facts["name"]
        self.index = index
        self.chapter = facts["chapter"]
        self.group = facts["group"]
        self.returns = facts["ret"]
        self.has_large = facts["has_large_count"]
        self.deprecated = facts.get("deprecated")
        accepted = overlay["accepts"].get(self.name, {})
        self.params = [Param(p, accepted.get(p["name"], [])) for p in facts["params"]]
        for p in self.params:
            p.unchecked = p.name in overlay["unchecked"].get(self.name, [])
            p.blocks = overlay["blocks"].get(self.name, {}).get(p.name)  # of a buffer, each of its count: a length
            p.is_received = p.name in overlay["received"].get(self.name, [])  # which the standard's data calls "in"
            # The standard's data says "root only" here, its text says otherwise.
            p.root_only &= p.name not in overlay["at_all_ranks"].get(self.name, [])
        self.on_requests = overlay["on_requests"].get(self.name)  # what gen/mover.py does with them
        self.is_local = facts.get("local") is True
        self.form = facts["form"]
        self.anytime = self.name in overlay["anytime"] or self.group in overlay["anytime_groups"]
        # A bad argument ends the job, or there is no good one: left out of gen/arguments.py.
        self.is_unprobed = self.name in overlay["unprobed"]
        self.body = overlay["body_of"].get(self.name, self.name)[4:].lower()
        # Silent: its body returns the code itself, and no error handler hears of it.
        self.is_silent = self.group in overlay["silent_groups"]
        self.reports_errors = (facts["ret"] == "int" and not facts.get("ret_kind")
                               and not self.is_silent)
        # The two forms differ in more than the width of integers: each has its own body.
        self.own_large_body = any(p.large_only or p.kind == "POLYFUNCTION" for p in self.params)

    def c_name(self, large, profiling=False):
        return ("P" if profiling else "") + self.name + ("_c" if large else "")

    def body_name(self, large):
        return self.body + ("_c" if large and self.own_large_body else "")

    def forms(self):
        return (False, True) if self.has_large else (False,)

    def visible(self, large):
        return [p for p in self.params if large or not p.large_only]

    def first(self, test):
        return next((p for p in self.params if test(p)), None)

    def counts_elements(self, p):
        """Below zero it is MPI_ERR_COUNT: a number of elements, or of requests. Not the sizes of an array."""
        is_of_array = any(q.kind == "ORDER" for q in self.params)
        return ("NUM_ELEM" in p.kind and not is_of_array) or any(
            q.kind == "REQUEST" and q.length == p.name for q in self.params)

    @property
    def communicator(self):
        return self.first(lambda p: p.kind == "COMMUNICATOR" and p.is_object)

    @property
    def session(self):
        return self.first(lambda p: p.kind == "SESSION" and p.is_object)

    @property
    def is_on_files(self):
        """Its errors are those of files, which end no job unless the user wants it (MPI 5.0, 14.7)."""
        return self.group == "io" or self.first(lambda p: p.kind == "FILE") is not None

    @property
    def root(self):
        return self.first(lambda p: "MPI_ROOT" in p.accepts)

    @property
    def communicates(self):
        return any(p.kind == "BUFFER" for p in self.params)


def declare(c_type, name):
    """'const int []', 'x' -> 'const int x[]'"""
    if name == "...":
        return "..."
    base, _, dims = c_type.partition(" [")
    space = "" if base.endswith(" *") else " "
    return base + space + name + ("[" + dims if dims else "")


def prototype(function, large=False, profiling=False):
    args = [declare(p.c_type(large), p.name) for p in function.visible(large)]
    return "%s %s(%s)" % (function.returns, function.c_name(large, profiling),
                          ", ".join(args) or "void")


class Table:
    def __init__(self, folder):
        def load(name):
            with open(os.path.join(folder, name)) as stream:
                return json.load(stream)
        self.overlay = load("overlay.json")
        facts = [f for f in load("api.json")["functions"] if f["in_abi"]]
        self.functions = [Function(f, i, self.overlay) for i, f in enumerate(facts)]
        self.constants = load("constants.json")["constants"]
        self.types = load("types.json")

    def symbols(self):
        for function in self.functions:
            for large in function.forms():
                yield function.c_name(large)
                yield function.c_name(large, True)


def scan_bodies(paths):
    """Names of the bodies defined in hand-written sources, outside anonymous namespaces."""
    found = set()
    for path in paths:
        with open(path) as stream:
            text = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", stream.read(),
                          flags=re.M | re.S)
        found.update(re.findall(r"^[A-Za-z_][\w:]*[ *&]+(\w+)\([^;]*?\)\s*\{", text, re.M))
    return found
