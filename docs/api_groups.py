"""The public names of the package by topic, for the API reference."""

GROUPS: dict[str, dict[str, list[str]]] = {
    "pairmend": {
        "Corrected classifiers": [
            "MendedClassifier",
            "CorrectedPairwiseClassifier",
        ],
        "Weights of validation rows": [
            "GaussianNeighbourhood",
            "AdaptiveNeighbourhood",
            "GlobalNeighbourhood",
        ],
        "Pairwise classifiers": ["PairwiseClassifier", "CalibratedLabelRanking"],
        "Thresholds and base classifiers": ["ThresholdedClassifier", "RandomSubspaceNB"],
    },
    "pairwise": {
        "Pairwise classifiers": [
            "QWeightedVoting",
            "TwoStageVoting",
            "BradleyTerryClassifier",
            "SharedFirstClassifier",
            "FourClassPairsClassifier",
            "ParallelHyperplanesSVM",
            "PairwisePerceptrons",
        ],
        "Corrected classifiers": ["CorrectedBinaryRelevance", "CorrectedMulticlassClassifier"],
    },
    "baselines": {
        "": [
            "BinaryRelevance",
            "LabelPowerset",
            "ClassifierChainEnsemble",
            "RAkEL",
            "MLkNN",
        ],
    },
    "base_classifiers": {"": ["ScaledLogisticRegression"]},
    "thresholds": {
        "Thresholds": [
            "FixedThreshold",
            "CardinalityThreshold",
            "F1Thresholds",
            "BatchF1Thresholds",
            "TopLabels",
            "NeverEmpty",
        ],
        "Thresholds with a guarantee": ["RecallControl", "PrecisionControl", "abstain"],
    },
    "metrics": {
        "Losses": ["LOSSES"],
        "Reliability of probabilities": ["reliability", "Reliability"],
    },
    "model_selection": {
        "": ["MultilabelStratifiedKFold"],
    },
    "frames": {"": ["FrameEncoder", "ColumnSummary", "ColumnWarning"]},
    "explanation": {
        "": ["explain", "Explanation", "Explanations", "LabelExplanation"],
    },
    "plots": {
        "Predictions": ["plot_explanation", "plot_correction", "plot_reliability"],
        "Comparisons": [
            "critical_difference",
            "rank_radar",
            "fold_spread",
            "probability_bars",
            "probability_triangle",
            "published_and_measured",
        ],
        "Data": ["plot_labels"],
        "Conversion": ["to_svg"],
    },
    "datasets": {
        "Datasets by name": [
            "load",
            "catalogue",
        ],
        "Generated data": [
            "make_shapes",
        ],
        "Files": [
            "load_file",
            "load_miml",
            "save_file",
        ],
        "Contents of files": [
            "MultiLabelData",
            "MultiInstanceData",
            "ReadLimits",
            "ReadLimitError",
            "ReadWarning",
        ],
        "Preparation": [
            "one_hot",
            "BagEmbedding",
        ],
        "Description": [
            "describe",
            "characteristics",
        ],
    },
    "persistence": {
        "": [
            "save_model",
            "load_model",
            "SavedModel",
            "ModelFileError",
            "ModelVersionWarning",
            "UntrustedTypesError",
        ],
    },
    "distributed": {"": ["fit", "predict", "predict_proba"]},
    "study": {
        "Definition": [
            "Study",
            "Criterion",
            "CRITERIA",
            "tuned",
            "load_study",
        ],
        "Run": [
            "run_study",
            "check_study",
            "plan_study",
            "Plan",
            "FailedTasksWarning",
        ],
        "Results": ["read_study", "StudyRecord"],
    },
    "stats": {
        "Tests over datasets": [
            "average_ranks",
            "friedman",
            "nemenyi",
            "critical_difference",
            "wilcoxon",
            "bayesian_signed_rank",
            "signed_rank_posterior",
        ],
        "Tests over the folds of a dataset": ["corrected_t_test"],
        "Adjustment of p-values": ["adjust"],
        "Intervals and correlations": ["bootstrap_intervals", "spearman"],
    },
    "report": {"": ["write_report", "summarise", "compare_losses"]},
    "published": {"": ["losses", "sets", "SOURCE"]},
}
"""Names by topic and module; the key "" stands for a module without topics."""
