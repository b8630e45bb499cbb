# Reads lines of latitude and longitude and writes for each the time zone that PyPI's
# timezonefinder gives it and its UTC offsets in seconds at both solstices of 2026.
# Run by timezonefinder_test.go.
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from timezonefinder import TimezoneFinder

finder = TimezoneFinder()
solstices = [datetime(2026, month, 21, 12, tzinfo=timezone.utc) for month in (6, 12)]
for line in sys.stdin:
    lat, lon = map(float, line.split())
    zone = finder.timezone_at(lat=lat, lng=lon)
    print(zone, *(int(t.astimezone(ZoneInfo(zone)).utcoffset().total_seconds()) for t in solstices))
