package doctor

import (
	"context"

	"github.com/lattice-director/director/db/query"
)

// enrolmentSums are sums over ops.enrolments and ops.server_credentials. EndsIn is in seconds.
type enrolmentSums query.DoctorEnrolmentsRow

func (d Doctor) checkEnrolments(ctx context.Context) (Finding, error) {
	s, err := d.newQueries().DoctorEnrolments(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeEnrolments(enrolmentSums(s)), nil
}

// endWarning is the time in seconds before its end from which on an enrolment with game servers is a finding: long
// enough for a weekend.
const endWarning = 3 * 24 * 3600.0

// judgeEnrolments warns before game servers cannot come back after a restart, and while some still share a secret that
// enrolments are to replace.
func judgeEnrolments(s enrolmentSums) Finding {
	const renew = "make another one, and give its token to these game servers before they restart: director " +
		"enrolments create"
	switch {
	case s.EndingServers > 0 && s.EndsIn <= 0:
		return warningFinding(renew, "the enrolment %s ended %s ago, and %d game servers registered by it: they "+
			"cannot come back after a restart",
			s.Ending, formatSeconds(-s.EndsIn), s.EndingServers)
	case s.EndingServers > 0 && s.EndsIn < endWarning:
		return warningFinding(renew, "the enrolment %s ends in %s, and %d game servers registered by it: then they "+
			"cannot come back after a restart",
			s.Ending, formatSeconds(s.EndsIn), s.EndingServers)
	case s.WithoutPlace != "":
		return warningFinding("director enrolments servers; make another enrolment if there are to be more",
			"the enrolment %s has all of its game servers: it registers no other one", s.WithoutPlace)
	case s.Enrolments > 0 && s.Sharing > 0:
		return warningFinding("director enrolments servers --credential 'fleet token'; give them the token of an "+
			"enrolment, then unset DIRECTOR_FLEET_TOKEN",
			"%d game servers registered with the shared fleet token, and %d by enrolments: who copies the shared "+
				"one speaks for all",
			s.Sharing, s.Enrolled)
	}
	return goodFinding("%d game servers registered by %d enrolments, %d with the shared fleet token", s.Enrolled,
		s.Enrolments,
		s.Sharing)
}
