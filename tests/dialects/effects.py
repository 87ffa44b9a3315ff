"""What a command line does, as the rows of lines/ say it: each word makes a check of a finished prun.

A check takes the finished process and its folder and returns what is wrong, or nothing. `dry` lines are
planned and not started: their hosts need not exist."""
import glob
import re


class Effect:
    def __init__(self, wrong, *, dry=False):
        self.wrong, self.dry = wrong, dry


def ended(done, status=0):
    return None if done.returncode == status else f"status {done.returncode}, not {status}"


def places(hosts):
    """The host of each rank, in order."""
    def wrong(done, _):
        host, found = None, {}
        for line in done.stdout.splitlines():
            if match := re.match(r"host (\S+): ", line):
                host = match[1]
            elif match := re.match(r" +rank (\d+) ", line):
                found[int(match[1])] = host
        ranks = " ".join(found[rank] for rank in sorted(found))
        return ended(done) or (None if ranks == hosts else f"ranks are on {ranks}, not on {hosts}")
    return Effect(wrong, dry=True)


def plans(*texts):
    """The plan holds each of the texts."""
    def wrong(done, _):
        return ended(done) or next((f"the plan does not hold '{text}'" for text in texts if text not in done.stdout), None)
    return Effect(wrong, dry=True)


def prints(*lines, status=0):
    """Standard output is these lines, in any order."""
    def wrong(done, _):
        got = sorted(done.stdout.splitlines())
        return ended(done, status) or (None if got == sorted(lines) else f"prints {got}")
    return Effect(wrong)


def matches(pattern, times, status=0):
    """So many lines of standard output, each of which matches."""
    def wrong(done, _):
        got = done.stdout.splitlines()
        good = len(got) == times and all(re.fullmatch(pattern, line) for line in got)
        return ended(done, status) or (None if good else f"prints {got}")
    return Effect(wrong)


def holds(*texts, status=0):
    """Standard output and standard error together hold each of the texts."""
    def wrong(done, _):
        both = done.stdout + done.stderr
        return ended(done, status) or next((f"does not hold '{text}'" for text in texts if text not in both), None)
    return Effect(wrong)


def fails(status, *texts):
    """Ends with this status; standard error holds each of the texts."""
    def wrong(done, _):
        return ended(done, status) or next((f"does not say '{text}'" for text in texts if text not in done.stderr), None)
    return Effect(wrong)


def refuses(*texts):
    """Ends before anything starts: status 2, nothing printed, the reason on standard error."""
    def wrong(done, _):
        return fails(2, *texts).wrong(done, _) or (None if done.stdout == "" else f"prints {done.stdout}")
    return Effect(wrong)


def file(name, text):
    """The one file of this name (with patterns of a shell) holds these lines, in any order."""
    def wrong(done, folder):
        found = glob.glob(f"{folder}/{name}")
        if len(found) != 1:
            return f"{len(found)} files are {name}"
        with open(found[0]) as stream:
            got = sorted(stream.read().splitlines())
        return ended(done) or (None if got == sorted(text.splitlines()) else f"{name} holds {got}")
    return Effect(wrong)


def tells(text):
    """Said in one line on standard error; what the program does is as ever."""
    def wrong(done, _):
        count = sum(text in line for line in done.stderr.splitlines())
        return ended(done) or (None if count == 1 else f"{count} lines hold '{text}'")
    return Effect(wrong)


def notes(*names):
    """Taken without effect, and told so; what the program does is as ever."""
    def wrong(done, _):
        said = "".join(line for line in done.stderr.splitlines() if "without effect here" in line)
        return ended(done) or next((f"{name} is not told" for name in names if name not in said), None)
    return Effect(wrong)
