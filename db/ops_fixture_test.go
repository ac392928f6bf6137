package db_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// opsDB is a database whose rows the test writes in SQL. Its leases last an hour, so that none expires on a slow
// machine, and there is no amnesty.
type opsDB struct {
	*storetest.DB
	t *testing.T
}

func newOpsDB(t *testing.T) *opsDB {
	t.Helper()
	d := &opsDB{storetest.New(t), t}
	d.Exec(`UPDATE fleet_clock SET lease_ttl = '1 hour', pulse_at = now(), steady_since = now() - interval '1 day'`)
	return d
}

// refused requires that err has the SQLSTATE, and returns its message.
func refused(t *testing.T, state string, err error) string {
	t.Helper()
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg)
	require.Equal(t, state, pg.Code, pg.Message)
	return pg.Message
}

// instance registers an instance with 16 seats, which offers the modes and has sent its last heartbeat some time ago
// (an interval).
func (d *opsDB) instance(region, id, heard string, modes ...string) {
	d.t.Helper()
	incarnation := uuid.New()
	d.Exec(`INSERT INTO instance_directory (instance_id, region, incarnation) VALUES ($1, $2, $3)`, id, region,
		incarnation)
	d.Exec(`INSERT INTO instances (region, id, incarnation, endpoint, modes, labels, version, capacity, seat_ceiling, registered_at)
		VALUES ($1, $2, $3, $2 || '.example:7777', $4, '{"rack": "7"}', '1.2.3', 16, 16, now() - interval '1 day')`, region, id, incarnation, modes)
	d.Exec(`INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
		VALUES ($1, $2, $3, now() - $4::text::interval, 0.25)`, region, id, incarnation, heard)
	d.Exec(`INSERT INTO instance_modes (region, instance_id, mode) SELECT $1, $2, unnest($3::text[])`, region, id, modes)
}

// session opens a session for 4 players on the instance, as of ten minutes ago, with reserved seats, and returns its
// public id.
func (d *opsDB) session(region, instance, mode string, players ...string) string {
	d.t.Helper()
	id := uuid.New()
	d.Exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at)
		SELECT region, $3, 'handle-' || gen_random_uuid(), $4, id, incarnation, $5, 4, now() - interval '10 minutes' FROM instances WHERE region = $1 AND id = $2`,
		region, instance, id, mode, len(players))
	d.Exec(`UPDATE instances SET reserved_seats = reserved_seats + 4, open_sessions = open_sessions + 1 WHERE region = $1 AND id = $2`, region, instance)
	d.Exec(`INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at)
		SELECT $1, $2, p, $3, gen_random_uuid(), p, now() + interval '1 minute' FROM unnest($4::text[]) p`, region, id, mode, players)
	return region + "." + id.String()
}

// connect connects a player to the session, with the token of that id.
func (d *opsDB) connect(session, player, jti string) {
	d.t.Helper()
	d.Exec(`UPDATE seats SET state = 'connected', connected_at = now(), expires_at = NULL, jti = $3
		WHERE region || '.' || session_id = $1 AND sub = $2`, session, player, jti)
}

// leave writes the history of a seat in a session of its own, with the times at which the player took it and left it.
func (d *opsDB) leave(player string, taken, left time.Time) {
	d.t.Helper()
	d.Exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason)
		VALUES ('eu', gen_random_uuid(), $1, 'duel', gen_random_uuid(), $1, $2, $3, 'left')`, player, taken, left)
}

// key makes a key that signs between two offsets (intervals from now). It was published an hour before, with a lead and
// an overlap of an hour.
func (d *opsDB) key(kid, from, until string) {
	d.t.Helper()
	d.Exec(`INSERT INTO signing_keys (kid, alg, public_jwk, sealed_private, sealed_by, publish_at, sign_from, sign_until, verify_until, lead, overlap)
		VALUES ($1, 'EdDSA', '{}', '\xdead', 'kek-1', now() + $2::text::interval - interval '1 hour', now() + $2::text::interval,
			now() + $3::text::interval, now() + $3::text::interval + interval '1 hour', '1 hour', '1 hour')`, kid, from, until)
}

// opsRoles are the roles of ops/grants.sql, each logged in as itself.
type opsRoles struct{ reader, operator *pgx.Conn }

// roles runs the script with role names of the test's own, because roles belong to the whole server.
func (d *opsDB) roles() opsRoles {
	d.t.Helper()
	script := must.Get(os.ReadFile("../ops/grants.sql"))(d.t)
	mark := "_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	reader, operator := "director_ops"+mark, "director_operator"+mark
	renamed := strings.NewReplacer("director_ops", reader, "director_operator", operator).Replace(string(script))
	d.script(renamed)
	d.script(renamed) // a second time does no harm
	d.t.Cleanup(func() {
		d.script("DROP OWNED BY " + reader + ", " + operator + "; DROP ROLE " + reader + ", " + operator)
	})
	return opsRoles{d.login(reader), d.login(operator)}
}

func (d *opsDB) login(role string) *pgx.Conn {
	d.t.Helper()
	config := d.Pool().Config().ConnConfig.Copy()
	config.User, config.Password = role, uuid.NewString()
	d.Exec("ALTER ROLE " + role + " LOGIN PASSWORD '" + config.Password + "'")
	conn := must.Get(pgx.ConnectConfig(context.Background(), config))(d.t)
	d.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// script runs several statements, as psql -f does.
func (d *opsDB) script(sql string) {
	d.t.Helper()
	conn := must.Get(d.Pool().Acquire(context.Background()))(d.t)
	defer conn.Release()
	must.Get(conn.Conn().PgConn().Exec(context.Background(), sql).ReadAll())(d.t)
}
