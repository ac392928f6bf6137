package openmatch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
)

// What a caller may ask for beyond Open Match, in the metadata of a call. Clients that know nothing of it send none.
// Over REST they are headers with Grpc-Metadata- before them.
const (
	wishTTL       = "director-ticket-ttl"  // CreateTicket: a duration such as 90s after which it leaves by itself
	wishKeepAlive = "director-keep-alive"  // CreateTicket: true: it stays for as long as somebody watches it
	wishAllOrNone = "director-all-or-none" // AssignTickets: true: if one is missing none is assigned
)

const (
	shortestTTL = time.Second
	longestTTL  = 30 * 24 * time.Hour
)

// wish gives what the caller asks for by that name; "" for nothing.
func wish(ctx context.Context, name string) string {
	if all := metadata.ValueFromIncomingContext(ctx, name); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// wishOf tells whether the caller asks for what is on or off.
func wishOf(ctx context.Context, name string) (bool, error) {
	text := wish(ctx, name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalid(name + " must be true or false")
	}
	return on, nil
}

// lifeOf gives how long a ticket is to live, 0 for ever, and whether watching prolongs that.
func lifeOf(ctx context.Context) (ttl time.Duration, keepAlive bool, err error) {
	if keepAlive, err = wishOf(ctx, wishKeepAlive); err != nil {
		return 0, false, err
	}
	text := wish(ctx, wishTTL)
	if text == "" {
		if keepAlive {
			return 0, false, invalid(wishKeepAlive + " needs " + wishTTL + ": how long the ticket stays when nobody watches it")
		}
		return 0, false, nil
	}
	ttl, err = time.ParseDuration(text)
	if err != nil || ttl < shortestTTL || ttl > longestTTL {
		return 0, false, invalid(fmt.Sprintf("%s must be a duration from %s to %s, such as 90s", wishTTL, shortestTTL, longestTTL))
	}
	return ttl, keepAlive, nil
}
