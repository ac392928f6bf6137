package openmatch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
)

// Options beyond Open Match that a caller may send in the metadata of a call; Open Match's clients send none. Over REST
// they are headers with the prefix Grpc-Metadata-.
const (
	optionTTL       = "director-ticket-ttl"  // CreateTicket: a duration such as 90s after which the ticket expires
	optionKeepAlive = "director-keep-alive"  // CreateTicket: true: the ticket does not expire while somebody watches it
	optionAllOrNone = "director-all-or-none" // AssignTickets: true: if a ticket is missing none is assigned
)

const (
	shortestTTL = time.Second
	longestTTL  = 30 * 24 * time.Hour
)

// optionValue returns an option's value; "" where the caller sends none.
func optionValue(ctx context.Context, name string) string {
	if all := metadata.ValueFromIncomingContext(ctx, name); len(all) > 0 {
		return all[len(all)-1] // a value that a proxy adds comes last, and counts
	}
	return ""
}

// boolOption returns an option that is true or false; false where the caller sends none.
func boolOption(ctx context.Context, name string) (bool, error) {
	text := optionValue(ctx, name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalidError(name + " must be true or false")
	}
	return on, nil
}

// ttlOf returns how long a ticket is to live, 0 for ever, and whether watching extends its life.
func ttlOf(ctx context.Context) (ttl time.Duration, keepAlive bool, err error) {
	if keepAlive, err = boolOption(ctx, optionKeepAlive); err != nil {
		return 0, false, err
	}
	text := optionValue(ctx, optionTTL)
	if text == "" {
		if keepAlive {
			return 0, false, invalidError(optionKeepAlive + " needs " + optionTTL +
				": how long the ticket stays when nobody watches it")
		}
		return 0, false, nil
	}
	ttl, err = time.ParseDuration(text)
	if err != nil || ttl < shortestTTL || ttl > longestTTL {
		return 0, false, invalidError(fmt.Sprintf("%s must be a duration from %s to %s, such as 90s", optionTTL,
			shortestTTL, longestTTL))
	}
	return ttl, keepAlive, nil
}
