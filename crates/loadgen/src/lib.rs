//! Load generator: data templates, workloads, histograms, the null responder.
