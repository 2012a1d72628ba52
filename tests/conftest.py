from hypothesis import HealthCheck, settings

# Machines under test are shared and slow at times: a deadline would fail by chance. The examples
# are the same in every run, so that a failure can be seen again.
settings.register_profile(
    "fedmgda", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fedmgda")
