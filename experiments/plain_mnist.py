"""Plain similarity on MNIST: what every learned similarity has to beat.

Unit pixels, centred PCA to 260 dimensions fitted on the 60,000 training pictures, unit
length; the 10,000 test pictures ask for digits of their class among the 60,000.
"""

from __future__ import annotations

from experiments.paper_sets import PaperSet, means, measured, mnist, planted
from experiments.report import Report, run


def main(report: Report) -> None:
    if report.quick:
        data = PaperSet.split(*planted(2_000, seed=report.seed), 200, report.seed)
    else:
        vectors, labels, is_test = mnist(fit_on_training=True)
        data = PaperSet(vectors[~is_test], labels[~is_test], vectors[is_test], labels[is_test])
    values = measured(data.queries, data)
    report.row(
        method="plain",
        queries=len(data.queries),
        items=len(data.items),
        dim=data.items.shape[1],
        **means(values),
    )


if __name__ == "__main__":
    run("plain_mnist", main, __doc__)
