"""One minute of the campaign, with a seed that never changes; more of it is a command."""

import pytest

from tests.faults.campaign import Campaign


@pytest.mark.timeout(300)
def test_a_minute_of_kills_and_cuts_loses_and_doubles_nothing(product):
    campaign = Campaign(product, seed=20261130)
    assert campaign.run(60) == []
    assert sum(campaign.faults.values()) > 20
    assert len(campaign.uploads) > 20
