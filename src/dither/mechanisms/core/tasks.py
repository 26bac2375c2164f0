"""Mechanisms by task: what somebody wants to release, and when to take which; the first of a task is taken first.

Declared here once, for the command ``dither catalog`` and the page of algorithms. Every registered mechanism that is
not there as literature belongs to a task at least; a test holds that. A mechanism may name its tasks itself, where it
is registered: it is then listed after those whose order is told here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Task:
    """Something that people want to release.

    Args:
        wish: completes "I want to release ...".
        door: how it is asked of a session or typed, in a line; empty where mechanisms are used by themselves.
        methods: when to take each mechanism, by its name; what is taken first comes first.

    """

    wish: str
    door: str
    methods: Mapping[str, str]


TASKS: Final[Mapping[str, Task]] = MappingProxyType(
    {
        "count": Task(
            "a count, a sum, an average, or a table of them by groups",
            "dither sql, session.sql; dither publish count, session.count",
            {
                "query": "For any table of statistics; list the groups where you can.",
                "partitioned-query": "When disjoint parts of the rows get different queries.",
                "adaptive-parts": "The same, where questions follow from earlier answers: session.parts.",
                "report": "When one answer is made of several queries: shares of a total, ROLLUP, UNION, ranks.",
                "geometric": "For counts and sums of integers under a pure epsilon.",
                "laplace": "For real numbers under a pure epsilon.",
                "staircase": "For one number of sensitivity above 1, at an epsilon of about 2 and more.",
                "bounded-geometric": "When a number outside a known range would be useless.",
                "truncated-laplace": "When an answer must never be off by more than a bound, with a delta.",
                "accuracy-first": "When a relative accuracy is wanted and the size of the count is unknown.",
                "noise-reduction": "When readers see different accuracies, or a coarse answer may be enough.",
            },
        ),
        "median": Task(
            "a median, a quantile, or a statistic that one row can move far",
            "dither sql with MEDIAN or QUANTILE, session.sql",
            {
                "query": "For medians, quantiles, smallest and largest values of a column, in groups.",
                "exponential-quantiles": "For your own numbers: one or few quantiles on a fine grid, in the library.",
                "smooth-laplace": "For your own statistic with a smooth bound on its local sensitivity, with a delta.",
                "smooth-cauchy": "The same without a delta; tails are heavy, and there are no error bars.",
                "smooth-gaussian": "The same for vectors whose coordinates move together.",
                "propose-test-release": "When the statistic hardly moves on ordinary data; it may refuse.",
                "sample-and-aggregate": "When nothing is known of the statistic but its range.",
            },
        ),
        "vector": Task(
            "many numbers in one release, of which one person moves several",
            "dither.release",
            {
                "discrete-gaussian": "For integers that one person touches in many places, with rho or a delta.",
                "gaussian": "The same for real numbers.",
                "gamma-norm": "Under a pure epsilon, when the change is bounded in L2.",
                "max-norm": "Under a pure epsilon, when one person moves every entry by about the same amount.",
                "k-norm": "Under a pure epsilon, when the few possible changes are known.",
            },
        ),
        "choice": Task(
            "the best of several candidates",
            "dither.release",
            {
                "permute-and-flip": "For one choice under a pure epsilon.",
                "exponential": "For choices that are added up in rho.",
                "top-k": "For several winners, when all scores are at hand.",
                "noisy-max": "The classical form; permute-and-flip is better at the same epsilon.",
                "generalised-exponential": "When the sensitivities of candidates differ much.",
                "grouped-exponential": "When most of very many candidates share one score.",
                "repeat-and-select": "When candidates are private runs themselves, such as settings of a learner.",
                "stable-mode": "For the most common key exactly, when it leads clearly; else nothing.",
            },
        ),
        "threshold": Task(
            "which of many questions, asked one after the other, exceed a threshold",
            "dither.converse",
            {
                "gap-sparse": "First: the price of the others, and it also returns by how much.",
                "above-threshold": "When only a plain yes or no may be revealed.",
                "numeric-sparse": "When the large values must be known with separate noise.",
            },
        ),
        "histogram": Task(
            "a histogram: how many rows fall into each cell",
            "dither publish histogram, session.histogram",
            {
                "identity-histogram": "Up to about fifty cells, and for cells that are read one by one.",
                "pruned-histogram": "For ranges over many ordered cells, when the number of rows is not known.",
                "hierarchical-histogram": "For ranges over many ordered cells with many rows; errors are known before.",
                "dawa": "For ranges over ordered cells of which many neighbours are alike; no error bars.",
                "most-likely-histogram": "For small counts that must not be negative, read one by one.",
                "noise-first": "When single cells matter and neighbours are alike.",
                "ahp": "When many cells are empty or alike and a few are large, in any order.",
                "structure-first": "For few cells in few buckets, with a small known bound.",
                "equi-width-histogram": "When cells are finer than anybody needs.",
                "uniform-histogram": "As a yardstick, or when there are hardly any rows.",
                "sorted-histogram": "For counts in order without their cells: degrees, sizes of groups.",
                "dp-cube": "For one to four dimensions with large even regions.",
                "least-cost-partition": "As a part: buckets in front of a method that measures them.",
                "bisection": "As a part: buckets, level by level.",
            },
        ),
        "keys": Task(
            "counts of keys that cannot be listed in advance",
            "dither sql with GROUP BY a column without categories",
            {
                "query": "For groups of a table: those above a noisy threshold are shown.",
                "stability-selection": "For search terms, products, places, search terms, with a delta.",
                "stability-histogram": "For numbers without known bounds, in bins of a public width.",
                "sparse-histogram": "When the domain is public, huge and mostly empty; no delta.",
            },
        ),
        "map": Task(
            "a map: the number of points in each place",
            "dither places heatmap, session.places; dither publish histogram with two columns, session.histogram",
            {
                "pruned-plane": "First, for points on a plane, many or few; every cell has an interval.",
                "adaptive-grid": "When a map of blocks is wanted whose size follows the points.",
                "priv-tree": "For points that are dense in few places.",
                "quad-tree": "When errors must be known in advance.",
                "uniform-grid": "For a quick map; adaptive-grid is nearly always better.",
                "function-release": "For a density at public points about a radius apart.",
                "gaussian-process": "For a density at many close points.",
                "median-cuts": "As a part: boxes with about equally many points.",
                "quartering-tree": "As a part: squares in front of a method that measures them.",
            },
        ),
        "journeys": Task(
            "from where to where people went, and which way",
            "dither places flows, dither places synthesize, session.places",
            {
                "flow-table": "For how many trips lead from each zone to each other.",
                "journey-synthesis": "For synthetic journeys on a grid.",
                "timed-journeys": "For synthetic journeys that say in which part of the day they begin.",
            },
        ),
        "local": Task(
            "answers that each person randomises at home, and what many such reports estimate",
            "dither survey, dither collect, dither estimate",
            {},
        ),
        "place": Task(
            "a report of one place: roughly where a device is, for an epsilon per metre",
            "dither report-location, dither.curator.device.report_location",
            {
                "reported-places": "First: latitude and longitude, or public cells, remapped by a public prior.",
                "predictive-reports": "For a device that reports all day and moves seldom.",
                "chosen-place": "Where a report must be one of a public list of places.",
                "optimal-report": "For up to 100 cells and a public prior that can be trusted.",
                "replaced-visit": "For a visit to one of the places of a public map.",
                "pair-response": "For a path on a network that those who know the network may read back.",
                "response-table": "As a part: a table of whole weights of your own, with its true loss.",
                "planar-noise": "As a part: noise for many places of a plane.",
            },
        ),
        "workload": Task(
            "the answers to many queries on the same cells: ranges, prefixes, a list of your own",
            "dither publish workload, session.workload",
            {
                "hdmm": "First: it searches a strategy, for either kind of loss.",
                "gaussian-factorisation": "For the least error with rho or a delta, up to some hundred cells.",
                "eigen-design": "The same up to 4,096 cells, when the optimum takes too long.",
                "prefix-sums": "For cumulative counts, quantiles and ranges of one column.",
                "privelet": "For ranges of all lengths on more than a few hundred ordered cells.",
                "matrix-mechanism": "When you bring a strategy of your own.",
                "low-rank-mechanism": "For many queries that are combinations of few.",
                "orthogonal-mechanism": "As the simplest good strategy with rho or a delta.",
                "weighted-marginals": "For marginals of a table too large to be written out, up to 16 columns.",
                "ireduct": "When relative errors matter and answers differ by orders of magnitude.",
                "two-phase": "The same, when every answer needs an interval.",
                "grouping-and-smoothing": "When a person counts in many columns that are alike.",
            },
        ),
        "marginals": Task(
            "tables of two, three or more columns that agree with each other",
            "dither publish marginals, session.marginals",
            {
                "residual-planner": "First with rho or a delta: from two columns to hundreds.",
                "noisy-marginals": "For a few marginals under a pure epsilon.",
                "contingency-table": "For many small marginals of few columns under a pure epsilon, or all cells.",
                "data-cubes": "Under a pure epsilon, when the largest error counts.",
                "fourier-marginals": "For small marginals of many yes-or-no columns under a pure epsilon.",
                "priview": "When it is not known yet which marginals will be wanted.",
            },
        ),
        "graph": Task(
            "counts and degrees of a graph, such as who knows whom, where each edge or each node is protected",
            "dither graph, session.graph",
            {
                "graph-ladder": "For triangles, stars and k-triangles: noise for this graph, and not for the worst.",
                "graph-laplace": "For the number of edges; for other patterns where an error must be known before.",
                "graph-smooth": "For triangles, stars and k-triangles with a delta; tails are heavier without one.",
                "graph-noisy-local": "For a count with an interval, where a delta is allowed.",
                "graph-ratio": "For clustering and assortativity, from counts that are released with them.",
                "degree-tail": "For how many nodes have which degree.",
                "degree-sequence": "The same by the degrees in order: a little closer for the few largest ones.",
                "degree-histogram": "For single degrees with intervals, such as the nodes without an edge.",
                "degree-vector": "For the degree of each node, with intervals.",
                "chosen-edges": "For the number of edges where a node is protected with all its edges.",
                "chosen-degrees": "For how many nodes have which degree, likewise.",
                "chosen-triangles": "For triangles, likewise; minutes for a million of them.",
                "quick-triangles": "For triangles of large graphs, likewise.",
                "chosen-stars": "For stars, likewise; large errors for large k.",
                "chosen-copies": "For cliques and k-triangles of small graphs, likewise.",
                "chosen-degree-sum": "For sums over degrees, such as the nodes that have an edge, likewise.",
                "projected-edges": "For the number of edges, likewise, where a small largest degree is public.",
                "projected-degrees": "For how many nodes have which degree, likewise.",
                "spanning-tree-cost": "For a minimum spanning tree of public edges and private weights.",
                "weighted-length": "For path lengths of public edges and private weights, with intervals.",
                "noisy-local": "As a part: a noisy local sensitivity, and noise for it.",
                "ladder": "As a part: noise in steps whose widths are local sensitivities, for your own statistic.",
            },
        ),
        "synthetic graph": Task(
            "a synthetic graph, whose edges anybody may have",
            "dither graph, session.graph",
            {
                "clustered-graph": "First: degrees, triangles, clustering and communities come close.",
                "top-edges-graph": "For an epsilon above the logarithm of the pairs for one edge: true edges stay.",
                "joint-degree-graph": "When degrees and who knows whom by degree are all that counts.",
                "community-graph": "When nodes that belong together must be identified, and degrees are high.",
                "degree-graph": "When degrees are all that counts.",
            },
        ),
        "synthetic": Task(
            "a synthetic table, whose rows anybody may have",
            "dither synthesize, session.synthesize",
            {
                "aim": "For the best quality, when half a minute is no objection.",
                "mst": "When seconds count, or there are a hundred columns.",
                "all-pairs": "When all pairs of columns matter; needs rho or a delta.",
                "jtree": "As quick as mst, with more than a tree.",
                "privbayes": "For columns of few values that depend on several others, and small budgets.",
                "gaussian-copula": "For numbers whose dependences rise or fall throughout.",
                "mwem-graphical": "For columns of few values and a stated workload.",
                "mwem": "The same for up to twenty yes-or-no columns.",
                "independent": "As the baseline, or when the budget is too small for pairs.",
                "found-bins": "With any of these, for columns of thousands of values with unknown heaps.",
                "counted-families": "For two tables of a data set, parents and children.",
                "parent-child": "The same for codes in memory.",
            },
        ),
        "rows": Task(
            "an anonymized table: generalised rows, sets of items, or questions about a stored table",
            "dither anonymize, session.anonymize",
            {
                "diffgen": "For labelled groups from which one class is learned.",
                "diffpart": "For sets out of a very large universe of items.",
                "priv-fuzzy": "For few groups of columns that belong together; synthetic tables keep more.",
                "kept-table": "For few counting questions that are not known in advance.",
                "moment-grouping": "As a part: which columns belong together.",
            },
        ),
        "classifier": Task(
            "a model that predicts a class",
            "dither fit, session.fit",
            {
                "boosted-trees": "First, for tables of numbers and codes.",
                "gradient-descent": "For a linear model with rho or a delta.",
                "objective-perturbation": "For a linear model of two classes under a pure epsilon.",
                "categorical-naive-bayes": "For columns of declared categories.",
                "gaussian-naive-bayes": "For small budgets, many classes, or one pass.",
                "chosen-tree": "For one tree that a person can follow.",
                "newton-descent": "When a linear model must be quick: a dozen steps.",
                "minibatch-descent": "When a pass over all records for every step is too slow.",
                "kernel-machine": "When no plane divides the classes and there are thousands of records.",
                "image-features": "For small images, with a few thousand of them or more.",
                "preconditioned-descent": "After a public change of coordinates.",
                "functional-mechanism": "For more than two classes under a pure epsilon.",
                "moment-classifier": "When one pass over the records must do.",
                "output-perturbation": "For two classes and more columns than objective-perturbation takes.",
                "random-forest": "Under a small pure epsilon, when nothing is known of the columns.",
                "counted-tree": "When the counts of every node are wanted beside the tree.",
                "guarded-classifier": "Around any of them, for two classes and little to lose.",
            },
        ),
        "regression": Task(
            "a model that predicts a number",
            "dither fit --model LinearRegression, session.fit",
            {
                "moment-regression": "First, up to a few hundred columns.",
                "functional-mechanism": "Under a pure epsilon.",
                "incremental-regression": "When a model is wanted while rows still come.",
            },
        ),
        "sparse": Task(
            "a model of many columns of which few matter",
            "dither fit --model Lasso or SparseLogisticRegression, session.fit",
            {
                "selected-columns": "First: half the budget finds the columns, half fits them.",
                "frank-wolfe": "When all that is wanted are weights in an L1 ball.",
                "support-selection": "For which columns matter alone, with very many rows.",
            },
        ),
        "clusters": Task(
            "centres of clusters, or a mixture",
            "dither.learn: KMeans, Coreset, GaussianMixture",
            {
                "refined-clusters": "First, for up to five columns, or six under a pure epsilon.",
                "coreset-clusters": "First, for more columns.",
                "private-coreset": "When it is not settled yet how many clusters are wanted, means or medians.",
                "grid-clusters": "When one draw of plain counts is wanted, for up to three columns.",
                "lloyd-clusters": "For two clusters in many columns and a small loss.",
                "noisy-mixture": "When clusters overlap or differ in shape.",
                "projected-clusters": "For hundreds of columns.",
                "chosen-subspaces": "When each cluster is in a few of few columns.",
            },
        ),
        "components": Task(
            "means, covariances, principal components, or a first look at all columns",
            "dither.learn: PCA, EmpiricalCovariance, scalers and binners",
            {
                "noisy-moments": "For covariances, correlations and principal components.",
                "chosen-components": "For the first component or two under a pure epsilon.",
                "column-counts": "For a histogram of every column, and bins for a model.",
                "random-projection": "When each record is to be released for distances; the noise is large.",
            },
        ),
        "itemsets": Task(
            "which sets of items occur together often",
            "dither.learn.itemsets",
            {
                "best-first-itemsets": "First, for the best k sets.",
                "binary-estimation": "For all sets above a public support.",
                "priv-basis": "For dense data in which a dozen items make up the frequent sets.",
                "truncated-apriori": "For short transactions under a pure epsilon.",
                "truncated-frequency": "For a handful of sets of a fixed small size.",
            },
        ),
        "recommend": Task(
            "which items people like, to recommend them",
            "dither.learn: Recommender",
            {
                "item-means": "First, for few people for each item, or a small loss.",
                "item-covariance": "For thousands of people and a few hundred items.",
            },
        ),
        "tuning": Task(
            "the best setting of a learner, or how well it does",
            "dither.learn.PrivateSearch",
            {
                "disjoint-tuning": "For a handful of candidates and many rows.",
                "repeated-tuning": "For many candidates under a pure epsilon.",
                "repeat-and-select": "For private runs of your own.",
                "held-out-score": "For one learner, to say how well it does on rows that it has not seen.",
            },
        ),
        "conversation": Task(
            "any number of counting questions about one table, for one price",
            "Session.conversation",
            {
                "lifted-conversation": "For questions in SQL about declared columns, from a session: dither ask.",
                "model-first": "For a table of counts of your own: measures a model first, and corrects gross errors.",
                "product-first": "For coded rows of your own whose columns have more than 2^20 cells together.",
            },
        ),
        "stream": Task(
            "a number that is released again and again while data come",
            "dither.converse",
            {
                "ticked-answer": "For counts, sums and means of a declared stream, from a session: dither stream.",
                "tick-noise": "For the separate numbers of each step, which are not added up.",
                "buffered-counter": "For running totals with a delta or under zCDP; for people, vectors, any length.",
                "tree-counter": "For running totals of a known number of steps under a pure epsilon.",
                "hybrid-counter": "For running totals without a known end under a pure epsilon.",
                "square-root-counter": "For running totals of one number over a known number of steps, under zCDP.",
                "prefix-counter": "For running totals whose noisy intervals are drawn one by one, through a plan.",
                "decayed-counter": "For sums in which earlier ticks count less and less, over any number of ticks.",
                "ranked-answer": "For medians, quantiles and the maximum so far of a declared stream.",
                "leading-groups": "For a list of the largest groups so far of a declared stream.",
                "seizable-answer": "For a declared stream on a machine that may be searched: nothing exact is stored.",
                "sliding-window": "For sums of the last ticks, released at every tick.",
                "window-publisher": "For tables at every tick without an end, for what is done within a window.",
                "drift-publisher": "For running totals that do not change most of the time.",
                "fourier-series": "For a smooth series that is published once, as a whole.",
                "stream-mean": "For the share of ones in a stream that is dear to read.",
                "pan-private-counter": "When the machine that counts may be searched, and few reports are wanted.",
                "incremental-regression": "For a regression of all rows so far, batch by batch.",
            },
        ),
        "report": Task(
            "one person's own report, without a trusted party",
            "dither.release",
            {
                "randomised-response": "For one of several categories.",
                "planar-laplace": "For a place.",
            },
        ),
        "parts": Task(
            "something of my own, put together from parts",
            "dither release, docs/extend.md",
            {
                "lifted": "Any method over any declared source; a session uses it for all tables.",
                "grouped": "The same for groups of rows or people that change together: `group size` in the schema.",
                "poisson-sample": "To lower the price of a greedy mechanism by a secret sample.",
                "fixed-size-sample": "The same for replaced rows, with a known number of rows.",
            },
        ),
    }
)


def all_tasks() -> Mapping[str, Task]:
    """Return all tasks, each with the mechanisms that name it where they are registered.

    >>> list(all_tasks()["report"].methods)
    ['randomised-response', 'planar-laplace']
    """
    # Imported here: the registry checks the names of tasks.
    from dither.mechanisms.core.registry import registered

    known = {name: entry for name, entry in registered().items() if entry.tasks}
    found = {}
    for word, task in TASKS.items():
        own = {name: entry.tasks[word] for name, entry in known.items() if word in entry.tasks}
        found[word] = replace(task, methods={**task.methods, **own}) if own else task
    return found


def tasks_of(name: str) -> tuple[str, ...]:
    """Return the tasks of a mechanism, by their words.

    >>> tasks_of("dawa")
    ('histogram',)
    """
    return tuple(word for word, task in all_tasks().items() if name in task.methods)
