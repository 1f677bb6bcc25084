# SPDX-License-Identifier: MIT
"""Text reports for tests that look for sentences: lines of the account are wrapped at 100 characters (report/text/groups/wrap.h), anywhere within these."""
import re


def unwrapped(text):
    """The report with each line of its account whole."""
    return re.sub(r"\n {12}(?! )", " ", text)
