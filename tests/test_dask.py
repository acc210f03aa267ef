"""The same class on a Dask cluster: the same grades, whatever becomes of the workers."""

import os
import signal

import pytest

pytest.importorskip("minigrad.grading.sandbox.choose")

from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.run import batch
from minigrad.grading.run.batch import (
    BatchError,
    Settings,
    grade_class,
    judge_class,
    record_submissions,
)
from minigrad.grading.run.record import unrecorded
from minigrad.grading.run.recorder import RecorderFailed
from tests.submissions.classes import Class

# Dask leaves sockets and event loops to the garbage collector when a worker is killed.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
    pytest.mark.usefixtures("tier"),
]


@pytest.fixture
def exercise(tmp_path):
    """The author's notebook, and a function that hands in answers by these names and gives the class."""
    handed = Class(tmp_path / "author.ipynb")
    return handed.author, handed.submit_each


@pytest.fixture(autouse=True)
def distributed():
    """Dask. To import it takes half a second, so that is not done where these tests are only collected."""
    return pytest.importorskip("distributed")


@pytest.fixture
def here(distributed):
    """A cluster of threads of this process, without a dashboard."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


def points(grades):
    return {g["student"]: [q["results"] for q in g["questions"]] for g in grades}


def test_a_cluster_gives_the_same_grades_even_if_a_worker_is_killed(
    exercise, tmp_path, tier, distributed
):
    author, write = exercise
    folder = write(*["full_slow_but_in_time", "half_one_gradient"] * 2, "zero_ends_the_process")
    recording, bundle = make_bundles(author)
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:

        def kill(done, of, what):
            if done == 2 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        settings = Settings("s", isolation=tier, scheduler=cluster.scheduler_address)
        there = record_submissions(folder, recording, tmp_path / "there", settings, kill)
    settings = Settings("s", isolation=tier)
    here = record_submissions(folder, recording, tmp_path / "here", settings, lambda *said: None)

    assert killed and there == here
    assert len(list((tmp_path / "there" / "answers").iterdir())) == 5
    assert [grade["points"] for grade in judge_class(bundle, there)] == [4, 2, 4, 2, 0]


def test_only_failures_of_the_machine_are_retried(exercise, tmp_path, here, monkeypatch):
    author, write = exercise
    folder = write("full_by_the_formula", "zero_swapped")
    recording, bundle = make_bundles(author)
    tries = tmp_path / "tries"
    tries.mkdir()

    def record_job(job):
        number = len(list(tries.glob(f"{job['submission']}-*")))
        (tries / f"{job['submission']}-{number}").touch()
        if number == 0:
            raise RecorderFailed("the kernel did not start")
        return unrecorded(job, "its fault")

    monkeypatch.setattr(batch, "record_job", record_job)
    settings = Settings("s", scheduler=here.scheduler_address)

    grades = grade_class(folder, recording, bundle, tmp_path / "out", settings)

    assert [g["unreadable"] for g in grades] == ["its fault"] * 2
    assert len(list(tries.iterdir())) == 4  # each failed once, and was not run a third time


def test_a_machine_that_always_fails_is_reported_and_other_answers_are_kept(
    exercise, tmp_path, here, monkeypatch
):
    author, write = exercise
    folder = write("full_by_the_formula", "zero_swapped")
    recording, bundle = make_bundles(author)
    real = batch.record_job

    def record_job(job):
        if "zero" in job["path_was"]:
            raise RecorderFailed("the disk is full")
        return real({**job, "path": None})

    with_content = batch._with_content
    named = lambda job: {**with_content(job), "path_was": job["path"]}
    monkeypatch.setattr(batch, "_with_content", named)
    monkeypatch.setattr(batch, "record_job", record_job)
    settings = Settings("s", scheduler=here.scheduler_address)

    right, lost = grade_class(folder, recording, bundle, tmp_path / "out", settings)
    assert right["points"] == 4 and lost["points"] == 0
    assert "the machine could not run it" in lost["unreadable"]
    assert "the disk is full" in lost["unreadable"]

    monkeypatch.setattr(batch, "record_job", real)
    _, again = grade_class(folder, recording, bundle, tmp_path / "out", settings)
    assert again["unreadable"] is None


def test_only_a_few_submissions_are_queued_at_a_time(here, monkeypatch):
    monkeypatch.setattr(batch, "AHEAD", 1)
    monkeypatch.setattr(batch, "record_job", lambda job: {"n": job["n"]})
    monkeypatch.setattr(batch, "_with_content", lambda job: job)
    waiting = {f"k{n}": {"n": n} for n in range(20)}

    done = list(batch._on_a_cluster(waiting, Settings(scheduler=here.scheduler_address)))

    assert {key: document["n"] for key, document, _ in done} == {f"k{n}": n for n in range(20)}
    assert len(done) == 20


def test_an_address_without_a_scheduler_is_explained(monkeypatch):
    monkeypatch.setattr(batch, "CONNECT", 1)

    with pytest.raises(BatchError, match="No Dask scheduler answers at tcp://127.0.0.1:1 "):
        list(batch._on_a_cluster({}, Settings(scheduler="tcp://127.0.0.1:1")))


@pytest.mark.parametrize("address", ["localhost", "tcp://192.0.2.1", "tcp://192.0.2.1:"])
def test_an_address_without_a_port_is_refused_at_once(address):
    with pytest.raises(BatchError, match=f"{address} has no port. To fix it, write it like"):
        list(batch._on_a_cluster({}, Settings(scheduler=address)))


def test_a_scheduler_without_workers_is_explained(monkeypatch, distributed):
    monkeypatch.setattr(batch, "CONNECT", 1)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        with pytest.raises(BatchError, match="has no worker. To fix it, run  dask worker"):
            list(batch._on_a_cluster({}, Settings(scheduler=cluster.scheduler_address)))
