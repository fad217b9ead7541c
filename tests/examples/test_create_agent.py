import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "create_agent.py"


def test_what_one_thread_told_the_agent_is_shown_to_the_model_in_another(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    told, asked = done.stdout.split("ann (tuesday)")
    assert "I will remember that." in told
    assert "<recalled_memory>" in asked
    assert "fact" in asked
    assert "Ann prefers metric units" in asked
    assert not list(tmp_path.iterdir())
