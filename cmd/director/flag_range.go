package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// number is the type of a numeric flag; that of durations is among them.
type number interface {
	~int | ~int32 | ~int64 | ~float64
}

// requireRange refuses a numeric flag that is given and not allowed, before the command runs. Each numeric flag that is
// no setting needs a range: a number that nothing judges is ignored, or means something else.
func requireRange[T number](cmd *cobra.Command, flag string, value *T, allowed string, isAllowed func(T) bool) {
	checkFirst(cmd, func([]string) error {
		// A default may be outside: it then means that the flag is not given.
		if !cmd.Flags().Changed(flag) || isAllowed(*value) {
			return nil
		}
		return cli.Usage(fmt.Errorf("--%s %s is not allowed: it must be %s", flag, numberText(*value), allowed))
	})
}

// The conditions below are written so that NaN is refused.

func requireAtLeast[T number](cmd *cobra.Command, flag string, value *T, least T) {
	requireRange(cmd, flag, value, numberText(least)+" or more", func(n T) bool { return n >= least })
}

func requireBetween[T number](cmd *cobra.Command, flag string, value *T, least, most T) {
	requireRange(cmd, flag, value, numberText(least)+" to "+numberText(most),
		func(n T) bool { return n >= least && n <= most })
}

func requirePositive[T number](cmd *cobra.Command, flag string, value *T) {
	requireRange(cmd, flag, value, "more than 0", func(n T) bool { return n > 0 })
}

func requirePositiveUpTo[T number](cmd *cobra.Command, flag string, value *T, most T) {
	requireRange(cmd, flag, value, "more than 0 and at most "+numberText(most),
		func(n T) bool { return n > 0 && n <= most })
}

// numberText is a number as people write it.
func numberText[T number](n T) string {
	if d, ok := any(n).(time.Duration); ok {
		return briefDuration(d)
	}
	return fmt.Sprint(n)
}
