"""A table of rows finds the modules that it names, whatever was imported before."""

import subprocess
import sys


def test_a_table_imports_the_closed_forms_that_it_names():
    code = "import edgelaw_ledger as claims; print(claims.examine(claims.load_sentences()['intro-5']).error or 'ok')"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "ok"
