"""python -m orrery.reports orbits NAME | energy NAME DT | stored"""

import sys

from . import energy_report, orbit_report, stored_report

kind, *rest = sys.argv[1:] or ["stored"]
if kind == "orbits":
    print(orbit_report.report(rest[0]))
elif kind == "energy":
    print(energy_report.report(rest[0], float(rest[1])))
else:
    print(stored_report.report())
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
