package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeClaimed writes a line about the latencies that do not count as the client says.
func (t Ticket) writeClaimed(b *strings.Builder) {
	var each []string
	for _, region := range slices.Sorted(maps.Keys(t.ClaimedLatencies)) {
		each = append(each, fmt.Sprintf("%s %d ms", region, t.ClaimedLatencies[region]))
	}
	if len(each) > 0 {
		fmt.Fprintf(b, "latencies that the client claims, too far from what is known to count: %s\n",
			strings.Join(each, ", "))
	}
}
