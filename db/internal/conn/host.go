package conn

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hostOrder lets each new connection begin with the host that accepted the last one, where DATABASE_URL names several.
// Otherwise each connection would begin with the first host: it would wait for the connect timeout while that is a lost
// primary, and would reach a lost primary that comes back as a primary.
type hostOrder struct {
	mu           sync.Mutex
	acceptedAddr string              // IP address and port of the last connection
	addrsByHost  map[string][]string // IP addresses to which host names were resolved
}

// install sets the hooks of a pool. It calls the hooks that are set already.
func (o *hostOrder) install(config *pgxpool.Config) {
	if len(config.ConnConfig.Fallbacks) == 0 {
		return
	}
	o.addrsByHost = map[string][]string{}
	lookup, afterConnect := config.ConnConfig.LookupFunc, config.AfterConnect
	config.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		ips, err := lookup(ctx, host)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.addrsByHost[host] = ips
		return ips, err
	}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { o.sort(c); return nil }
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		o.mu.Lock()
		o.acceptedAddr = c.PgConn().Conn().RemoteAddr().String()
		o.mu.Unlock()
		if afterConnect == nil {
			return nil
		}
		return afterConnect(ctx, c)
	}
}

// sort moves the host of the last connection to the front, with and without TLS. The other hosts keep their order.
func (o *hostOrder) sort(c *pgx.ConnConfig) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	all := append([]*pgconn.FallbackConfig{first}, c.Fallbacks...)
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return cmp.Compare(o.rank(a), o.rank(b)) })
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

// rank returns 0 for the host of the last connection, 1 for the others.
func (o *hostOrder) rank(h *pgconn.FallbackConfig) int {
	port := strconv.Itoa(int(h.Port))
	isAccepted := func(ip string) bool { return net.JoinHostPort(ip, port) == o.acceptedAddr }
	if slices.ContainsFunc(o.addrsByHost[h.Host], isAccepted) {
		return 0
	}
	return 1
}
