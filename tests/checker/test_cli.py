"""One end-to-end test per command, and what bad input is answered with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from roamcheck.checker.files import bundled
from roamcheck.spec.protocols import PROTOCOLS


def roamcheck(*words, cwd=None, feed=None):
    return subprocess.run([sys.executable, "-m", "roamcheck", *words], capture_output=True, text=True, cwd=cwd, input=feed, check=False)


def one_line(ran, *says):
    lines = ran.stderr.splitlines()
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith("roamcheck: error: ")
    for text in says:
        assert text in lines[0]
    assert ran.stdout == ""


def test_check_prints_verdicts_tells_the_shortest_and_writes_a_trace_for_each(tmp_path):
    ran = roamcheck("check", "child-above-parent", "--counts", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    assert "no-routing-loop" in ran.stdout
    assert "b4 takes BMIG" in ran.stdout
    assert "guards never true" in ran.stdout
    names = sorted(path.name for path in (tmp_path / "roamcheck-traces").iterdir())
    assert "child-above-parent.mft-pubsub.no-routing-loop.jsonl" in names
    replayed = roamcheck("replay", f"roamcheck-traces/{names[0]}", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr


def test_check_as_json_prints_nothing_else_and_writes_nothing(tmp_path):
    ran = roamcheck("check", "figure-1b", "client-migration", "--protocol", "modular", "--json", "-", cwd=tmp_path)
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [record["scenario"] for record in records] == ["figure-1b", "client-migration"]
    assert all(record["protocol"] == "modular" and record["complete"] for record in records)
    assert records[1]["properties"]["hop-count-exact"]["verdict"] == "not-applicable"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["client-migration"], 0),
        (["broker-migration"], 0),  # hop-count-exact is violated, but not promised
        (["broker-migration", "--property", "hop-count-exact"], 1),
        (["child-above-parent"], 1),
        (["child-above-parent", "--readings", "amended"], 0),
        (["client-migration", "--max-states", "3"], 3),
        (["child-above-parent", "nosuch"], 2),
        (["client-migration", "child-above-parent"], 1),
        (["broker-migration", "--protocol", "phoenix"], 0),  # not applicable: phoenix knows no broker migration
    ],
)
def test_the_exit_code_is_the_worst_of_what_came(words, code, tmp_path):
    assert roamcheck("check", *words, "--json", "-", cwd=tmp_path).returncode == code


def test_a_bad_file_among_several_is_an_error_object_and_the_rest_go_on(tmp_path):
    ran = roamcheck("check", "nosuch", "client-migration", "--json", "-", cwd=tmp_path)
    error, good = map(json.loads, ran.stdout.splitlines())
    assert "nosuch" in error["error"]
    assert good["scenario"] == "client-migration"


def test_options_override_the_file(tmp_path):
    scenario = bundled()["child-above-parent"] + '\n[readings]\nhop-test = "path"\n'
    (tmp_path / "mine.toml").write_text(scenario)
    for words, expected in (([], "path"), (["--readings", "printed"], "message"), (["--reading", "hop-test=home"], "home")):
        ran = roamcheck("check", "mine.toml", *words, "--json", "-", cwd=tmp_path)
        assert json.loads(ran.stdout)["readings"]["hop-test"] == expected
    ran = roamcheck("check", "mine.toml", "--bounce", "later", "--in-flight", "lost", "--client-links", "instant", "--json", "-", cwd=tmp_path)
    assert json.loads(ran.stdout)["assumptions"] == {
        "in-flight": "lost", "bounce": "later", "client-links": "instant", "radio": "reliable", "lossy": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "no-such-scenario"], ["no-such-scenario", "bundled"]),
        (["check", "free-stra"], ["did you mean free-star"]),
        (["check", "n" * 300], ["no such file"]),
        (["scenarios", "show", "n" * 300 + ".toml"], ["File name too long"]),
        (["check", "free-star", "--protocol", "mqtt"], ["no protocol is called 'mqtt'", "mft-pubsub"]),
        (["check", "free-star", "--property", "speed"], ["no property is called 'speed'"]),
        (["check", "free-star", "--reading", "queue"], ["give NAME=VALUE"]),
        (["check", "free-star", "--reading", "queue=none"], ["reading queue has no value 'none'", "per-entry, per-subscriber"]),
        (["check", "free-star", "--readings", "mine"], ["printed, amended"]),
        (["check", "free-star", "--radio", "loud"], ["reliable"]),
        (["check", "free-star", "--mutant", "nobody"], ["no mutant is called 'nobody'", "roamcheck list mutants"]),
        (["check"], ["SCENARIO"]),
        (["frobnicate"], ["frobnicate"]),
        (["replay", "nothing.jsonl"], ["no such file"]),
        (["replay", "."], ["is a folder"]),
        (["list", "birds"], ["protocols"]),
        (["scenarios", "show", "nosuch"], ["nosuch"]),
    ],
)
def test_bad_usage_is_answered_by_one_clear_line_and_exit_code_2(words, says, tmp_path):
    ran = roamcheck(*words, cwd=tmp_path)
    assert ran.returncode == 2
    one_line(ran, *says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"format = =\n", "bad.toml:1"),
        (b'format = "roamcheck-scenario/9"\n', "roamcheck-scenario/9"),
    ],
)
def test_a_bad_scenario_file_is_told_with_file_and_line(content, says, tmp_path):
    (tmp_path / "bad.toml").write_bytes(content)
    for command in (["check"], ["scenarios", "validate"], ["scenarios", "show"]):
        ran = roamcheck(*command, "bad.toml", cwd=tmp_path)
        assert ran.returncode == 2
        one_line(ran, "bad.toml", says)


def test_a_file_name_with_odd_characters_does_not_reach_the_terminal_raw(tmp_path):
    ran = roamcheck("check", "a\x1b[31mb\n.toml", cwd=tmp_path)
    assert ran.returncode == 2
    one_line(ran, "\\x1b", "\\n")


def test_a_trace_that_does_not_replay_exits_4(tmp_path):
    roamcheck("check", "child-above-parent", "--traces", ".", "--tell", "none", cwd=tmp_path)
    path = tmp_path / "child-above-parent.mft-pubsub.no-routing-loop.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"to": "b1"', '"to": "b2"', 1), encoding="utf-8")
    ran = roamcheck("replay", path.name, cwd=tmp_path)
    assert ran.returncode == 4
    one_line(ran, "step 1")


def test_a_move_that_never_fires_is_warned_of(tmp_path):
    text = bundled()["client-migration"] + '\n[[moves]]\nid = "stuck"\ndo = "attach"\nsubscriber = "s1"\nto = "b2"\nafter = ["t0-1"]\n'
    (tmp_path / "mine.toml").write_text(text)
    ran = roamcheck("check", "mine.toml", "--json", "-", cwd=tmp_path)
    assert "move stuck (attach) fired in no run" in ran.stderr


@pytest.mark.parametrize("form", ["text", "mermaid", "itf"])
def test_replay_in_every_form_and_interactively(form, tmp_path):
    roamcheck("check", "overlap-queue", "--traces", ".", "--tell", "none", cwd=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    ran = roamcheck("replay", path.name, "--to", form, cwd=tmp_path)
    assert ran.returncode == 0
    assert "e1" in ran.stdout
    one = roamcheck("replay", path.name, "--step", "2", cwd=tmp_path)
    assert "before" in one.stdout
    assert roamcheck("replay", path.name, "--step", "99", cwd=tmp_path).returncode == 2
    walked = roamcheck("replay", path.name, "--interactive", cwd=tmp_path, feed="n\ns\nq\n")
    assert walked.returncode == 0
    assert "   1  " in walked.stdout
    records = [json.loads(line) for line in roamcheck("replay", path.name, "--json", "-", cwd=tmp_path).stdout.splitlines()]
    assert [record["step"] for record in records] == list(range(1, len(records) + 1))


@pytest.mark.parametrize(
    ("what", "least", "keys"),
    [
        ("protocols", 7, {"name", "source"}),
        ("properties", 13, {"name", "says"}),
        ("readings", 17, {"name", "values", "amended"}),
        ("assumptions", 4, {"name", "values"}),
        ("scenarios", 29, {"name", "title"}),
        ("mutants", 60, {"name", "algorithm", "line", "status", "killed_by"}),
    ],
)
def test_list_as_a_table_and_as_json(what, least, keys, tmp_path):
    records = [json.loads(line) for line in roamcheck("list", what, "--json", "-").stdout.splitlines()]
    assert len(records) >= least
    assert all(keys <= set(record) for record in records)
    table = roamcheck("list", what).stdout
    assert all(record["name"] in table for record in records)
    roamcheck("list", what, "--json", "out.json", cwd=tmp_path)
    assert len((tmp_path / "out.json").read_text().splitlines()) == len(records)


def test_scenarios_list_show_and_validate(tmp_path):
    shown = roamcheck("scenarios", "show", "figure-1b")
    (tmp_path / "copy.toml").write_text(shown.stdout)
    ran = roamcheck("scenarios", "validate", "copy.toml", "figure-1a", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[0].startswith("figure-1b: valid")
    assert "free-star" in roamcheck("scenarios", "list").stdout
    assert json.loads(roamcheck("scenarios", "show", "figure-1b", "--json", "-").stdout)["name"] == "figure-1b"


COMMANDS = [[], ["check"], ["search"], ["replay"], ["list"], ["scenarios"], ["scenarios", "show"], ["scenarios", "validate"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command):
    ran = roamcheck(*command, "--help")
    assert ran.returncode == 0
    assert "Example: roamcheck" in ran.stdout


def test_a_mutant_is_planted_by_name_and_caught_where_the_list_says(tmp_path):
    rows = [json.loads(line) for line in roamcheck("list", "mutants", "--json", "-").stdout.splitlines()]
    row = next(row for row in rows if row["status"] == "killed" and row["killed_by"]["property"] == "routing-converged")
    kill = row["killed_by"]
    words = ["check", kill["scenario"], "--protocol", kill["protocol"], "--readings", kill["readings"], "--property", kill["property"], "--json", "-"]
    assert roamcheck(*words, cwd=tmp_path).returncode == 0
    mutated = roamcheck(*words, "--mutant", row["name"], "--traces", "here", cwd=tmp_path)
    assert mutated.returncode == 1
    assert json.loads(mutated.stdout)["mutant"] == row["name"]
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_traces_folder_is_told_before_anything_is_explored(tmp_path):
    (tmp_path / "afile").write_text("")
    ran = roamcheck("check", "child-above-parent", "--traces", "afile", cwd=tmp_path)
    assert ran.returncode == 2
    one_line(ran, "afile", "name a folder")


def test_two_scenarios_of_one_name_write_their_traces_beside_each_other(tmp_path):
    text = bundled()["overlap-queue"]
    for file in ("one.toml", "two.toml"):
        (tmp_path / file).write_text(text)
    ran = roamcheck("check", "one.toml", "two.toml", "--traces", "t", "--json", "-", cwd=tmp_path)
    paths = {json.loads(line)["properties"]["no-duplicate"]["trace"] for line in ran.stdout.splitlines()}
    assert paths == {"t/overlap-queue.mft-pubsub.no-duplicate.jsonl", "t/overlap-queue.mft-pubsub.no-duplicate.2.jsonl"}


def test_output_that_cannot_be_written_is_one_line_and_exit_code_2():
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-m", "roamcheck", "list", "protocols"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == ["roamcheck: error: standard output cannot be written: No space left on device"]


def test_a_terminal_without_the_papers_characters_is_shown_their_escapes():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    called = [sys.executable, "-m", "roamcheck", "check", "child-above-parent", "--json", "-"]
    ran = subprocess.run([*called[:-2], "--traces", os.devnull + "-none", "--max-states", "1"], capture_output=True, env=environment, check=False)
    assert ran.returncode in (2, 3)
    assert b"Traceback" not in ran.stderr


def test_json_goes_through_a_link_and_into_a_pipe(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert roamcheck("list", "protocols", "--json", "link.json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert len((tmp_path / "real.json").read_text().splitlines()) == len(PROTOCOLS)
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert roamcheck("list", "protocols", "--json", "pipe", cwd=tmp_path).returncode == 0
    assert len(reader.communicate(timeout=20)[0].splitlines()) == len(PROTOCOLS)


def test_an_interrupt_stops_all_and_leaves_what_was_found(tmp_path):
    called = [sys.executable, "-m", "roamcheck", "check", "peers-f", "client-migration", "--no-reduction", "--json", "-"]
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}  # as if standard error were a terminal: it shows progress
    ran = subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    shown = ""
    while "states/s" not in shown and (more := ran.stderr.read(1)):
        shown += more
    ran.send_signal(signal.SIGINT)
    out, err = ran.communicate(timeout=60)
    assert ran.returncode == 130, shown + err
    (record,) = map(json.loads, out.splitlines())
    assert (record["scenario"], record["complete"]) == ("peers-f", False)
    assert record["properties"]["well-formed"]["verdict"] == "holds-within"


@pytest.mark.parametrize("words", [["list", "mutants"], ["scenarios", "show", "figure-1b"], ["check", "figure-1b", "--traces", "t"]])
def test_a_reader_that_has_gone_is_not_taken_for_a_verdict(words, tmp_path):
    ran = subprocess.Popen([sys.executable, "-m", "roamcheck", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    ran.stdout.close()
    assert (ran.wait(timeout=30), ran.stderr.read()) == (141, b"")
    ran.stderr.close()


def test_a_file_keeps_its_mode_and_a_new_one_obeys_the_umask(tmp_path):
    (tmp_path / "mine.json").touch(mode=0o600)
    for name in ("mine.json", "new.json"):
        called = [sys.executable, "-m", "roamcheck", "list", "protocols", "--json", name]
        subprocess.run(called, cwd=tmp_path, umask=0o027, check=True, capture_output=True)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("mine.json", "new.json")] == [0o600, 0o640]


def test_counts_are_in_the_json_too():
    record = json.loads(roamcheck("check", "free-star", "--counts", "--json", "-").stdout)
    assert record["transitions_by_action"]["migrate"] > 0
    assert "TR19 Alg. 4 l.1" in record["guards"]["never_asked"]


def test_a_trace_of_another_version_is_refused(tmp_path):
    roamcheck("check", "overlap-queue", "--traces", ".", "--tell", "none", cwd=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_text(path.read_text(encoding="utf-8").replace('"version": "0.1.0"', '"version": "99.0"'), encoding="utf-8")
    ran = roamcheck("replay", path.name, cwd=tmp_path)
    assert ran.returncode == 2
    one_line(ran, 'version = "99.0"', "record it anew")


def test_where_nothing_can_be_written_the_default_folder_is_done_without(tmp_path):
    (tmp_path / "roamcheck-traces").write_text("")
    ran = roamcheck("check", "overlap-queue", "--tell", "none", cwd=tmp_path)
    assert ran.returncode == 1
    assert "no traces are written" in ran.stderr
    assert "no-duplicate" in ran.stdout
