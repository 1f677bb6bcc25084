/* SPDX-License-Identifier: MIT */
/*
 * out_openmetrics: a report as metrics, for a collector that reads a file (node_exporter's textfile collector) or
 * any other reader of OpenMetrics or of Prometheus's text format: all are gauges, whose form is the same in both.
 *
 * Of the process: what is live and how fast it grows, what is lost (if there are verdicts), how long its threads
 * were stopped, and the events. Of the first ten groups: live bytes and growth, with labels that name the code;
 * of a sampled run the estimated leak rates instead, with their intervals. A second family (descriptors) has
 * another label `family`. What is not known yet is not there. With filters, groups and growth are those of what is
 * shown, and live bytes are all.
 */
#ifndef MM_OUT_OPENMETRICS_H
#define MM_OUT_OPENMETRICS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

must_check int out_openmetrics(const struct summary *s, size_t top, struct strbuf *sb);

#endif
