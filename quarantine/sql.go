package quarantine

// application marks a database as ours (PRAGMA application_id).
const application = 0x7374696c // "stil"

// migrations bring a database from the version of their index to the next; the
// version is PRAGMA user_version. One that was released is never changed.
var migrations = []string{`
CREATE TABLE meta (
	name  TEXT NOT NULL PRIMARY KEY,
	value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE record (
	id            TEXT    NOT NULL CHECK (length(id) = 26),
	policy        TEXT    NOT NULL,
	first         INTEGER NOT NULL, -- milliseconds since 1970, UTC
	last          INTEGER NOT NULL,
	reason        TEXT    NOT NULL,
	address       TEXT    NOT NULL,
	address_hash  TEXT    NOT NULL,
	proved        TEXT    NOT NULL CHECK (proved IN ('yes', 'no', 'unknown')),
	claims_listed INTEGER NOT NULL CHECK (claims_listed IN (0, 1)),
	signer        TEXT    NOT NULL,
	size          INTEGER NOT NULL,
	sha256        TEXT    NOT NULL CHECK (length(sha256) = 64),
	queue_id      TEXT    NOT NULL,
	client_ip     TEXT    NOT NULL,
	evidence      TEXT    NOT NULL,
	count         INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (id, policy)
) STRICT, WITHOUT ROWID;

CREATE INDEX record_by_time ON record (first, id);
CREATE INDEX record_by_address ON record (policy, reason, address_hash, first) WHERE address_hash <> '';

CREATE TABLE known_key (
	name BLOB    NOT NULL PRIMARY KEY CHECK (length(name) = 32), -- SHA-256
	seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX known_key_by_time ON known_key (seen);
`, `
CREATE TABLE proof (
	policy    TEXT    NOT NULL,
	signature BLOB    NOT NULL CHECK (length(signature) = 32), -- SHA-256
	message   BLOB    NOT NULL CHECK (length(message) = 32),   -- SHA-256
	first     INTEGER NOT NULL, -- milliseconds since 1970, UTC
	PRIMARY KEY (policy, signature)
) STRICT, WITHOUT ROWID;

CREATE INDEX proof_by_time ON proof (first);
`, `
CREATE TABLE sighting (
	id     TEXT    NOT NULL CHECK (length(id) = 26),
	policy TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- milliseconds since 1970, UTC
	place  TEXT    NOT NULL,
	class  TEXT    NOT NULL,
	count  INTEGER NOT NULL CHECK (count > 0),
	hash   TEXT    NOT NULL,
	PRIMARY KEY (id, policy, place, class)
) STRICT, WITHOUT ROWID;

CREATE INDEX sighting_by_time ON sighting (at);
`}

const (
	// repeat finds the row that a record folds into: of the same policy, reason
	// and address, its first time less than an hour away.
	sqlRepeat = `SELECT id FROM record
WHERE policy = ? AND reason = ? AND address_hash = ? AND address_hash <> '' AND first > ? AND first < ?
ORDER BY first DESC LIMIT 1`
	sqlFold   = `UPDATE record SET count = count + 1, last = max(last, ?) WHERE id = ? AND policy = ?`
	sqlInsert = `INSERT INTO record (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	columns   = `id, policy, first, last, reason, address, address_hash, proved, claims_listed, signer, size, sha256, queue_id, client_ip, evidence, count`

	sqlExpire = `UPDATE record SET evidence = ? WHERE id = ? AND evidence = ?`

	sqlGet = `SELECT ` + columns + ` FROM record WHERE id = ? ORDER BY policy`
	// An empty policy or reason means any.
	sqlList = `SELECT ` + columns + ` FROM record
WHERE first >= ? AND (?2 = '' OR policy = ?2) AND (?3 = '' OR reason = ?3)
ORDER BY first DESC, id DESC, policy LIMIT ?`
	sqlStats = `SELECT policy, reason, count(*), sum(count) FROM record GROUP BY policy, reason ORDER BY policy, reason`
	sqlCount = `SELECT count(*) FROM record`

	sqlDeleteBefore = `DELETE FROM record WHERE (id, policy) IN
(SELECT id, policy FROM record WHERE first < ? ORDER BY first LIMIT ?)`
	sqlDeleteOldest = `DELETE FROM record WHERE (id, policy) IN
(SELECT id, policy FROM record ORDER BY first, id LIMIT ?)`

	sqlKnown    = `SELECT seen FROM known_key WHERE name = ?`
	sqlRemember = `INSERT INTO known_key (name, seen) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET seen = max(seen, excluded.seen)`
	sqlForget = `DELETE FROM known_key WHERE name IN
(SELECT name FROM known_key ORDER BY seen LIMIT max(0, (SELECT count(*) FROM known_key) - ?))`

	sqlProof       = `SELECT message, first FROM proof WHERE policy = ? AND signature = ?`
	sqlKeepProof   = `INSERT INTO proof (policy, signature, message, first) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlCountProofs = `SELECT count(*) FROM proof`
	sqlProofsUntil = `DELETE FROM proof WHERE (policy, signature) IN
(SELECT policy, signature FROM proof WHERE first < ? ORDER BY first LIMIT ?)`
	sqlOldestProofs = `DELETE FROM proof WHERE (policy, signature) IN
(SELECT policy, signature FROM proof ORDER BY first LIMIT ?)`

	sqlKeepSighting = `INSERT INTO sighting (` + sightingColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sightingColumns = `id, policy, at, place, class, count, hash`
	// An empty policy means any.
	sqlSightings = `SELECT ` + sightingColumns + ` FROM sighting WHERE at >= ? AND (?2 = '' OR policy = ?2)
ORDER BY at DESC, id DESC, policy, place, class LIMIT ?`
	sqlCountSightings = `SELECT count(*) FROM sighting`
	sqlSightingsUntil = `DELETE FROM sighting WHERE (id, policy, place, class) IN
(SELECT id, policy, place, class FROM sighting WHERE at < ? ORDER BY at LIMIT ?)`
	sqlOldestSightings = `DELETE FROM sighting WHERE (id, policy, place, class) IN
(SELECT id, policy, place, class FROM sighting ORDER BY at LIMIT ?)`

	sqlHashKey    = `SELECT value FROM meta WHERE name = 'hash-key'`
	sqlSetHashKey = `INSERT INTO meta (name, value) VALUES ('hash-key', ?) ON CONFLICT (name) DO NOTHING`
	sqlReady      = `INSERT INTO meta (name, value) VALUES ('ready', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

	sqlObjects     = `SELECT count(*) FROM sqlite_schema`
	sqlApplication = `PRAGMA application_id`
	sqlVersion     = `PRAGMA user_version`
	sqlWAL         = `PRAGMA journal_mode = WAL`
)
