"""The experiments on the paper's model run at toy size, without any data set, and add up."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bilinear
from experiments import kuang_cifar10, kuang_fresh, kuang_mnist, kuang_rerank, plain_mnist
from experiments.paper_sets import PaperSet, measured, planted
from experiments.report import Report


def ran(module, name, folder):
    report = Report(name, quick=True, settings={"out": str(folder)})
    module.main(report)
    return report.rows


def of(rows, **wanted):
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def test_plain_mnist(tmp_path):
    (row,) = ran(plain_mnist, "plain_mnist", tmp_path)
    assert row["method"] == "plain"
    assert 1 / 6 < row["map"] < row["p1"] <= 1  # better than chance among six classes


def test_kuang_mnist_has_every_method_and_plots(tmp_path):
    rows = ran(kuang_mnist, "kuang_mnist", tmp_path)
    methods = {"qi-rsvm", "qd-rsvm", "paper", "clip", "extension", "identity-prior"}
    for labels in ("literal", "pool500"):
        for n in (6, 12):
            assert methods <= {row["method"] for row in of(rows, labels=labels, n=n)}
    (plain,) = of(rows, method="euclid", labels=None)
    # Planted: a weighting that depends on the query finds more than the cosine.
    (paper,) = of(rows, method="paper", labels="pool500", n=12, figure=None)
    assert paper["map"] > plain["map"]
    assert paper["p_value"] < 0.01
    for row in of(rows, method="extension", labels="literal"):
        assert row["map"] >= plain["map"] - 0.002
    assert (tmp_path / "kuang_fig5.png").stat().st_size > 1000
    assert (tmp_path / "kuang_fig6.png").stat().st_size > 1000


def test_kuang_on_fresh_queries_has_what_the_product_learns(tmp_path):
    _, items, asked = kuang_fresh.fresh(*planted(300), 30, seed=0)
    used = np.random.default_rng(0).choice(300, 150, replace=False)
    assert not np.isin(asked, used).any()
    assert sorted([*items, *asked]) == list(range(300))
    rows = ran(kuang_fresh, "kuang_fresh", tmp_path)
    for labels in ("literal", "pool500"):
        methods = {row["method"] for row in of(rows, labels=labels, n=12)}
        assert {"paper", "clip", "extension", "reference-queries", "bilinear"} <= methods
    (paper,) = of(rows, method="clip", labels="pool500", draws=1)
    (chosen,) = of(rows, method="reference-queries", labels="pool500", draws=1)
    assert chosen["map"] > paper["map"]  # planted: one step is not far enough
    norms = [row["norm"] for row in of(rows, figure=4)]
    angles = [row["angle"] for row in of(rows, figure=4)]
    assert norms == sorted(norms)
    assert angles == sorted(angles, reverse=True)
    for plot in ("kuang_fig4.png", "kuang_fig9.png"):
        assert (tmp_path / plot).stat().st_size > 1000


def test_kuang_rerank_whole_index_beats_reranking(tmp_path):
    rows = ran(kuang_rerank, "kuang_rerank", tmp_path)
    (whole,) = of(rows, method="paper", search="whole index")
    for depth in (10, 100):
        (row,) = of(rows, method="paper", search=f"re-rank {depth}")
        assert row["map"] < whole["map"]
    (plain,) = of(rows, method="euclid")
    assert row["recall"] == pytest.approx(plain["recall"])  # re-ranking 100 finds no other 100
    assert (tmp_path / "kuang_rerank.png").exists()


def test_kuang_cifar10_recall_grows_with_probes(tmp_path):
    rows = ran(kuang_cifar10, "kuang_cifar10", tmp_path)
    table = of(rows, table=2)
    for method in kuang_cifar10.TABLE2:
        recalls = [row["recall"] for row in of(table, method=method)]
        assert recalls == sorted(recalls)
    for row in table:
        assert 0 < row["share"] < 1
    assert (tmp_path / "kuang_recall.png").exists()


def test_benchmark_compares_plain_and_surrogate_at_equal_probes(tmp_path):
    rows = ran(bilinear, "bilinear", tmp_path)
    assert of(rows, method="learn references")[0]["gap"] <= 1e-3
    for index in ("three trees", "faiss ivf"):
        surrogate = of(rows, method=f"{index}, surrogate")
        assert [r["k"] for r in surrogate] == [r["k"] for r in of(rows, method=f"{index}, plain")]
        assert all(r["ratio"] > 0 and 0.3 < r["recall"] <= 1 for r in surrogate)


def test_measures_in_blocks_are_the_measures_of_all():
    data = PaperSet.split(*planted(300), 50, 0)
    whole, parts = measured(data.queries, data), measured(data.queries, data, block=7)
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name])
    perfect = measured(
        np.eye(6)[data.query_labels],
        PaperSet(
            np.eye(6, dtype=np.float32)[data.item_labels],
            data.item_labels,
            data.queries,
            data.query_labels,
        ),
        ("map", "p1", "curve"),
    )
    assert all((values == 1).all() for values in perfect.values())
