-- Records of a user in the namespace in effect. Binds: user_id, agent_id; addresses are JSON,
-- because Postgres has no arrays of arrays of different lengths.
--
-- [stored] is narrower than the access rule: a program has one record at an address. It still reads
-- an evicted record, which recall does not.

-- name: at
-- A merge can leave two records at one address: the active one comes first.
SELECT m.*
  FROM memories AS m
 WHERE /*[visible m*/ true /*]*/ AND /*[stored*/ m.address IS NOT NULL /*]*/
   AND m.address IN (SELECT ARRAY(SELECT jsonb_array_elements_text(a)) AS address
                       FROM jsonb_array_elements(CAST(:addresses AS jsonb)) AS a)
 ORDER BY m.address, m.status, m.updated_at DESC, m.id;

-- name: under
SELECT m.id, m.address
  FROM memories AS m
 WHERE /*[visible m*/ true /*]*/ AND /*[stored*/ m.address IS NOT NULL /*]*/
   AND m.address[1:cardinality(CAST(:prefix AS text[]))] = CAST(:prefix AS text[])
 ORDER BY m.id;

-- name: page
SELECT *
  FROM (SELECT DISTINCT ON (m.address) m.*
          FROM memories AS m
         WHERE /*[visible m*/ true /*]*/ AND /*[stored*/ m.address IS NOT NULL /*]*/
           AND m.address[1:cardinality(CAST(:prefix AS text[]))] = CAST(:prefix AS text[])
           AND cardinality(m.address) > cardinality(CAST(:prefix AS text[]))
         ORDER BY m.address, m.status, m.updated_at DESC, m.id) AS record
 WHERE /*[matching*/ true /*]*/
 ORDER BY updated_at DESC, address
 LIMIT :limit OFFSET :offset;

-- name: sizes
-- The metadata has the text of a blank file.
SELECT DISTINCT ON (m.address) m.address,
       octet_length(coalesce(m.metadata ->> 'text', m.content)) AS bytes
  FROM memories AS m
 WHERE /*[visible m*/ true /*]*/ AND /*[stored*/ m.address IS NOT NULL /*]*/
   AND m.address[1:cardinality(CAST(:prefix AS text[]))] = CAST(:prefix AS text[])
 ORDER BY m.address, m.status, m.updated_at DESC, m.id;

-- name: obstacle
-- A record above or below one of the addresses.
SELECT m.address
  FROM memories AS m
  JOIN (SELECT ARRAY(SELECT jsonb_array_elements_text(a)) AS address
          FROM jsonb_array_elements(CAST(:addresses AS jsonb)) AS a) AS new
    ON new.address <> m.address
   AND (new.address[1:cardinality(m.address)] = m.address
        OR m.address[1:cardinality(new.address)] = new.address)
 WHERE /*[visible m*/ true /*]*/ AND /*[stored*/ m.address IS NOT NULL /*]*/
 LIMIT 1;

-- name: expired
SELECT id
  FROM memories
 WHERE owner_id = :owner_id AND address IS NOT NULL AND valid_to <= now()
   AND metadata ? 'ttl' AND status IN ('active', 'evicted')
 ORDER BY id;
