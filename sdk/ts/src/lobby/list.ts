/** Which rooms a list has. With `filter`, `joinable` or `order` it is a search among the newest rooms of the type, which is required then. */
export interface RoomQuery {
  room_type?: string;
  /** What each key of the metadata must be: a value, a list of values, or bounds of a number. */
  filter?: Record<string, unknown>;
  /** Neither locked nor full. */
  joinable?: boolean;
  order?: 'newest' | 'members' | 'free' | 'id';
  /** At most 1,000, of a search 200. */
  limit?: number;
  /** The `next` of the page before. Not with a search. */
  after?: string;
}

/** A room of a list. */
export interface ListedRoom {
  readonly id: string;
  readonly room_type: string;
  readonly members: number;
  readonly max_members?: number;
  readonly locked?: boolean;
  /** What the maker of the room says of it. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
}

/** A player whose presence is watched. */
export interface FriendPresence {
  readonly player: string;
  readonly online: boolean;
  /** Up to four of its rooms that are not private. */
  readonly rooms: readonly { readonly id: string; readonly room_type: string }[];
}
