"""Search: subgames of a public tree are solved again, safely, and the policy that does so is judged exactly."""

from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.certificate import Certificate, certify
from mccfr_plus.search.policy import SearchPolicy
from mccfr_plus.search.resolving import METHODS, Resolved, gadget, resolve

__all__ = ["METHODS", "Blueprint", "Certificate", "Resolved", "SearchPolicy", "certify", "gadget", "resolve"]
