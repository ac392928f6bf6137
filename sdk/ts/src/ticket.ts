import { UnreadableError } from './errors.js';
import type { Ticket } from './types.js';

/** Returns a document as a ticket. Throws UnreadableError if it is none, or not the one with this id, unless that is undefined. */
export function checkTicket(value: unknown, id: string | undefined): Ticket {
  const ticket = value as Partial<Ticket> | undefined;
  const whole = typeof ticket?.ticket_id === 'string' && typeof ticket.state === 'string' && Number.isInteger(ticket.version);
  if (!whole || (id !== undefined && ticket.ticket_id !== id)) throw new UnreadableError('the answer is not the ticket');
  return ticket as Ticket;
}
