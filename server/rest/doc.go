// Package rest is the gin toolkit that every HTTP face of the director is built from: a typed handler adapter, strict
// JSON in, problem documents (RFC 9457) out, and the middlewares around them (request ids, access log, metrics,
// authentication, rate limits, deadlines). It decides how we speak HTTP and JSON, and nothing about what is said: routes
// and request types live in the faces (server/fleet, server/play, server/infra), listeners in server, state in db.
//
// A face makes its routes like this:
//
//	calls := engine.Group("/", rest.Bearer(verify, failures), bodies.Read, gate.Enter, rest.Deadline(900*time.Millisecond))
//	calls.POST("/resolve", rest.Handle(http.StatusOK, face.resolve))
//
//	func (f *Face) resolve(ctx context.Context, in rest.In[resolveRequest]) (resolveAnswer, error)
//
// Errors are returned, never written: a *db.Error becomes the status of its Kind, a failed [Check] a 400 that names the
// fields, anything else a 500 whose text only the log sees.
package rest
