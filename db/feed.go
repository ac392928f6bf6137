package db

// advance makes a page of the rows that two statements found since a point: late ones, of transactions that were in progress
// at the point, come first and all of them before any of the young ones, of transactions that began to write since. tx is a row's
// transaction; size is how many rows each statement returns at most, beside those of its last transaction. It returns the rows
// of the page, the point after them, and whether there are more up to the moment at which the reading began.
func advance[R any](since SettledPoint, now CurrentSnapshotRow, late, young []R, size int, tx func(R) uint64) (rows []R, next SettledPoint, more bool) {
	target := since.target
	if target == "" {
		target = now.Snapshot
	}
	rows, more = late, len(late) >= size
	if !more {
		rows = append(rows, young...)
		// What began to write after the target is the next reading's: otherwise a reading would never end under load.
		more = len(young) >= size && tx(young[len(young)-1]) < snapshotEnd(target)
	}
	if more {
		return rows, SettledPoint{server: now.Server, read: since.read, target: target, after: tx(rows[len(rows)-1])}, true
	}
	return rows, SettledPoint{server: now.Server, read: target}, false
}
