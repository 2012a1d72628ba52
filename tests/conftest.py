import os
import subprocess

import pytest
from hypothesis import HealthCheck, settings

# Machines under test are shared and slow at times: a deadline would fail by chance. The examples
# are the same in every run, so that a failure can be seen again.
settings.register_profile(
    "fedmgda", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fedmgda")


@pytest.fixture
def small_disk(tmp_path):
    """Yield a function that gives a folder on a disk of so many pages, or mounts it otherwise."""
    places = {tmp_path / "disk"}

    def mount(pages, *options, place=tmp_path / "disk"):
        place.mkdir(exist_ok=True)
        places.add(place)
        room = pages * os.sysconf("SC_PAGE_SIZE") or 1  # zero would mean no limit
        command = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={room}", *options])]
        try:
            subprocess.run([*command, "tmpfs", str(place)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("mounting a small tmpfs needs the superuser")
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)
