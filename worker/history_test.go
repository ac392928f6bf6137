package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func partition(table string, days int) string {
	return table + "_" + time.Now().UTC().AddDate(0, 0, days).Format("20060102")
}

// Pins a day without a partition, after which its rows can only be dropped one by one; and ten workers that trip over
// each other making one.
func TestHistoryReachesAheadAndIsDroppedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, table := range []string{"events", "seat_history"} {
		b.exec("DROP TABLE " + partition(table, daysAhead))
	}
	for _, age := range []int{-40, -10} {
		from := time.Now().UTC().AddDate(0, 0, age).Truncate(day)
		b.exec("CREATE TABLE " + partition("events", age) + " PARTITION OF events FOR VALUES FROM ('" +
			from.Format(time.RFC3339) + "') TO ('" + from.Add(day).Format(time.RFC3339) + "')")
	}

	require.Equal(t, Done{"partitions_made": 2, "partitions_dropped": 1}, b.race(10, "history", b.options()))
	require.Equal(t, daysAhead, one[int](b, "SELECT min(days_ahead) FROM ops.partitions"))
	require.True(t, one[bool](b, "SELECT to_regclass($1) IS NULL AND to_regclass($2) IS NOT NULL", partition("events", -40), partition("events", -10)))

	o := b.options()
	o.Retention = 2 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
}
