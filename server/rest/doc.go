// Package rest is the gin toolkit of all HTTP faces: typed handlers, strict JSON decoding, problem documents (RFC 9457)
// and the middlewares around them (request ids, access log, metrics, authentication, rate limits, deadlines). It
// defines how the director speaks HTTP and JSON. Routes and request types live in the faces (server/fleet, server/play,
// server/infra), listeners in server, state in db.
//
// A face mounts its routes like this:
//
//	calls := engine.Group("/", rest.RequireBearer(verify, failures), bodies.Read, gate.Enter,
//		rest.SetDeadline(900*time.Millisecond))
//	calls.POST("/resolve", rest.Handle(http.StatusOK, face.resolve))
//
//	func (f *Face) resolve(ctx context.Context, in rest.In[resolveRequest]) (resolveAnswer, error)
//
// Handlers return errors and never write them. A *fault.Error is answered with the status of its Kind, a failed [Check]
// with a 400 that names the fields, and any other error with a 500 whose text appears only in the log.
//
// # What is not gin's
//
// CORS is gin-contrib/cors, tracing is otelgin, rate limits are golang.org/x/time/rate. Three middlewares are our own:
//
//   - Recovery: gin's swallows http.ErrAbortHandler, so a truncated answer would end like a complete one.
//   - Request ids: gin-contrib/requestid accepts any text from the caller, and only code that knows gin can read its
//     id.
//   - Access log: gin's logs paths and queries, which hold session handles and tokens.
package rest
