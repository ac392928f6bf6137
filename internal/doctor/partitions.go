package doctor

import (
	"context"
	"math"

	"github.com/lattice-director/director/db/opsview"
)

func (d Doctor) checkPartitions(ctx context.Context) (Finding, error) {
	tables, err := opsview.Partitions.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{Order: opsview.EndingFirst})
	if err != nil {
		return Finding{}, err
	}
	return judgePartitions(tables), nil
}

// judgePartitions takes the tables whose partitions end first, first.
func judgePartitions(tables []opsview.Partition) Finding {
	const do = "start a worker, or look for \"failing\" of its loop history in its log"
	// The least of all tables: the first that ends is the first whose rows fall into the default partition.
	ahead := int32(math.MaxInt32)
	for _, t := range tables {
		switch {
		case t.DaysAhead < 0:
			return failureFinding(do, "%s has no partition for today", t.TableName)
		case t.DaysAhead < 2:
			return warningFinding(do, "%s reaches only %d days ahead", t.TableName, t.DaysAhead)
		case t.DefaultBytes > 0:
			return warningFinding(do, "%s has %d bytes in its default partition", t.TableName, t.DefaultBytes)
		}
		ahead = min(ahead, t.DaysAhead)
	}
	return goodFinding("they reach %d days ahead", ahead)
}
