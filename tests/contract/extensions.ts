/**
 * Rows of what the interface announces or leaves open, and the service has: rule, and the test that fails without it.
 */
export const EXTENSIONS = `
API keys / Authorization: ApiKey <key>, the scheme without regard to case <- key-requests: the credential > is found whatever the case of its scheme
API keys / not for /auth/*, timers, /api-keys, invite, export and erase <- key-routes: every route > that declares no permission takes no key, not even one that may do everything
GET /api-keys <- api-keys: listing > is paged, newest first, with the revoked keys, and filtered by them
GET /api-keys / query / revoked <- api-keys: listing > is paged, newest first, with the revoked keys, and filtered by them
POST /api-keys <- api-keys: creating > shows the key once, with every field, and stores its hash alone
POST /api-keys / request / name | permissions | allowed_networks <- api-keys: creating > a wrong field is refused: %j
POST /api-keys / takes no Idempotency-Key <- api-keys: creating > takes no idempotency key, because the answer is shown once: a repeated request makes another key
GET /api-keys/:id <- api-keys: revoking > ends the key at once and for good; it stays listed
PATCH /api-keys/:id <- api-keys: changing > name, permissions and networks are changed, and count at once
DELETE /api-keys/:id <- api-keys: revoking > ends the key at once and for good; it stays listed
API keys / for signed-in admins only <- tenancy: every route > that only admins may call is 403 for an agent, and no other is
API keys / code / INVALID_PERMISSIONS <- api-keys: creating > a wrong field is refused: %j
API keys / code / API_KEY_NOT_FOUND <- api-keys: revoking > ends the key at once and for good; it stays listed
API keys / form <- key-format: a key is dk_, 10 characters that name it, 32 random ones and 6 of a checksum, all base 62
API keys / checksum <- key-format: the checksum is the CRC-32 of all before it in base 62, so that scanners can compute it
API keys / a mistyped key is refused without a query <- key-format: every mistyped character, and every pair that changes places, is noticed without a query
API keys / stored as SHA-256 <- key-format: what is stored of a key is its SHA-256
API keys / never logged <- key-log: the log names the key of a request by its id, and never shows it
API keys / permission / missing <- key-routes: every route > without its permission is 403 and says which it is, whatever else the key may do
API keys / permission / given <- key-routes: every route > with its permission alone does what it does
API keys / permission / write includes read, * is all of them <- key-routes: every route > reads with the permission to write, and with that for everything
API keys / permission / tickets:read alone shows messages and time of a ticket <- key-requests: what a key does > has a ticket with its messages and its time by tickets:read alone
API keys / permission / time_entries:write changes the time of anybody <- key-requests: what a key does > changes the time of anybody with time_entries:write
API keys / never makes admins, sets passwords or touches keys <- key-requests: what a key does > never makes an admin, sets a password or changes an email
API keys / unknown, mistyped: INVALID_TOKEN <- key-requests: the credential > that is unknown, mistyped or missing is INVALID_TOKEN
API keys / revoked: INVALID_TOKEN <- key-routes: every route > with a revoked key is 401
API keys / revoked elsewhere: within 10 seconds <- key-requests: the credential > ends well within 10 seconds after another process revoked it
API keys / from another network: FORBIDDEN <- key-routes: every route > from another network is 403
API keys / network / behind a trusted proxy <- key-requests: the credential > counts from its networks alone, by the address that a trusted proxy gives
API keys / outlives the person who made it <- api-keys: revoking > a key outlives the person who made it
API keys / one organization <- key-routes: every route > in another organization is 403
API keys / its own rate limit <- key-requests: requests of a key > are counted for it alone
API keys / its own idempotency keys <- key-requests: requests of a key > have idempotency keys of their own
API keys / last_used_at <- key-requests: requests of a key > note the last use without a write for each
API keys / last_used_at / at the end of the service <- key-log: the service writes the last uses of keys when it stops
API keys / actor and sender <- key-requests: what a key does > is done in its name: in the timeline and as the sender of messages
API keys / webhook payloads <- key-requests: what a key does > is told to webhooks with the name of the key
API keys / user_id of time <- key-requests: logging time > needs the user of an API key, who is an active member
API keys / user_id of time / admins for others <- key-requests: logging time > for others is for admins; for oneself it makes no difference
API keys / audit / every write <- key-audit: a request of a key > is listed when it writes, with its status, and not when it reads
API keys / audit / every refusal <- key-audit: a request of a key > is listed when it is refused, reads too
API keys / audit / 429 <- key-audit: a request of a key > is listed when it comes too often, up to a hundred times a minute
API keys / audit / in the transaction of the write <- key-audit: a request of a key > is listed in the transaction of its write: without the entry there is no write
API keys / audit / api_key.created, updated, revoked <- key-audit: the log says who made, changed and revoked a key, and never the key
API keys / cli api-key create <- key-cli: the command prints the key once, as one line of JSON
API keys / OpenAPI <- documentation: the document > says of every operation which permission an API key needs, or that it takes none
POST /tickets/:ticket_id/timer/start <- timers: starting > answers with every field of the timer, which is the active one from then on
POST /tickets/:ticket_id/timer/start / body optional <- timers: starting > needs no body
POST /tickets/:ticket_id/timer/start / request / description, billable, rate <- timers: starting > %j is refused and starts nothing
POST /tickets/:ticket_id/timer/start / code / TIMER_ALREADY_RUNNING <- timers: starting > is refused while another timer runs, which the answer shows
Timers / of two at the same moment one wins <- timers: starting > of many at the same moment one wins
Timers / one for each user and organization <- timers: starting > each member has a timer in each organization
POST /tickets/:ticket_id/timer/stop <- timers: stopping > logs the time with what the timer was started with, as if it had been logged by hand
POST /tickets/:ticket_id/timer/stop / request / description, billable, rate, date <- timers: stopping > takes what is given instead
POST /tickets/:ticket_id/timer/stop / begun minutes, 1..525,600 <- timers: stopping > %s counts in begun minutes, within bounds
POST /tickets/:ticket_id/timer/stop / day of the start in the organization's zone <- timers: stopping > the day is that of the start in the zone %p
POST /tickets/:ticket_id/timer/stop / code / TIMER_NOT_FOUND <- timers: stopping > is about the own timer on that ticket
GET /timer/active <- timers: starting > answers with every field of the timer, which is the active one from then on
DELETE /timer/active <- timers: a timer that is dropped > logs nothing
GET /timers <- timers: the list of running timers > shows admins those of all members, the last started first
Timers / deleting the ticket stops and logs, before ticket.deleted <- timers: the timers that run > on a ticket that is deleted are logged, before the event of the deletion
Timers / removing or deactivating the user stops and logs <- timers: the timers that run > of a member who %s are logged
Cursors / every paged list <- cursors: a list with pages > takes a cursor, whichever it is
Cursors / meta.next_cursor <- cursors: a list with pages > has a next cursor on every page but the last
Cursors / no total, no page <- cursors: a list with pages > shows by cursor the rows of its pages in their order, and no total
Cursors / no totals <- cursors: a list with pages > of time entries has no totals with a cursor
Cursors / per_page may change <- cursors: a cursor > may be used with another per_page, by another member, and as often as wished
Cursors / with page: 422 at /query/cursor <- cursors: a cursor > is refused with page
Cursors / signed <- cursors: a cursor > is refused when it was made up or changed
Cursors / bound to the organization <- cursors: a cursor > is refused in another organization
Cursors / bound to list, filters and sort <- cursors: a cursor > is refused by every other list
Cursors / following / next_cursor is never null <- following: following by sort=updated_at > gives a cursor on every page, also on the last one by number
Cursors / following / a row that changes comes again <- following: following by sort=updated_at > shows a row again when it changes
Cursors / following / the last 5 seconds are held back <- following: following by sort=updated_at > holds back what changed in the last five seconds, and shows it later
Cursors / following / nothing that commits late is missed <- following: following by sort=updated_at > loses no change of transactions that commit late and out of order, on two processes
POST /users / 3 invitations an hour to one address, re-sent ones included: RATE_LIMITED <- invitations: an invitation > goes to one address three times within an hour, however often it is taken back
POST /users / 100 invitations a day of one organization: RATE_LIMITED <- invitations: an invitation > is one of a hundred that an organization sends within a day
POST /attachments / code / SERVICE_UNAVAILABLE <- store-faults: while S3 is away uploads and downloads get 503, mail 451, the log and a figure name it; then all works again
POST /contacts/:id/erase / 503 when it takes long, and it goes on <- erase: an erasure that takes long goes on after its answer, and the next request waits for it
GET /auth/second-factor <- second-factor: setting one up > takes the password, then a code of the app; other sessions end, and recovery codes are shown once
POST /auth/second-factor <- second-factor: setting one up > takes the password, then a code of the app; other sessions end, and recovery codes are shown once
POST /auth/second-factor / ten minutes <- second-factor: setting one up > needs the right password, and a secret that was made in the last ten minutes
POST /auth/second-factor/confirm <- second-factor: setting one up > takes the password, then a code of the app; other sessions end, and recovery codes are shown once
POST /auth/second-factor/recovery-codes <- second-factor: renewing and removing > take password and code; the recovery codes of before end
DELETE /auth/second-factor <- second-factor: renewing and removing > take password and code; the recovery codes of before end
Second factor / encrypted, never shown <- second-factor: setting one up > keeps neither secret nor recovery codes readable, in the database, the audit log or the log
POST /auth/login / 401 SECOND_FACTOR_REQUIRED <- second-factor: signing in > asks for the code after the right password, and for nothing after a wrong one
POST /auth/login/second-factor <- second-factor: signing in > asks for the code after the right password, and for nothing after a wrong one
POST /auth/login/second-factor / a step counts once, 1 step away at most <- second-factor: signing in > takes each code once, and none of more than one step away
POST /auth/login/second-factor / of two with one code one <- second-factor: signing in > of several with one code at the same time one is let in
POST /auth/login/second-factor / recovery codes <- second-factor: signing in > takes a recovery code once, however it is written
POST /auth/login/second-factor / code / INVALID_TOKEN | TOKEN_EXPIRED <- second-factor: signing in > a challenge ends with five wrong codes, after five minutes, and with what ends sessions
POST /auth/login/second-factor / 10 guesses with those of passwords <- code-guesses: wrong passwords and wrong codes of one email and address are ten together
POST /auth/login/second-factor / 20 in 24 hours <- code-guesses: of 100 codes at the same time from as many addresses 20 are tried; a right one is refused for the day
POST /auth/login/second-factor / 10,000 codes over two processes <- sign-in-processes: of 10,000 random codes from as many addresses 20 are tried and none opens; a right one waits for the next day
POST /auth/login/second-factor / 20 of a known address <- code-guesses: an address that signed in with a code has 20 of its own, and a right password alone gives none
POST /auth/invitations/:token/accept / request / code <- invited-factor: accepting an invitation takes the code of an account with a second factor, whatever its password
DELETE /users/:id/second-factor <- second-factor: a lost one > is reset by an admin of the only organization of the account; all sessions end
DELETE /users/:id/second-factor / the own one: FORBIDDEN <- second-factor: a lost one > is not reset by its owner, who takes it away with password and code
DELETE /users/:id/second-factor / member elsewhere: FORBIDDEN <- second-factor: a lost one > is not reset by an admin of one of several organizations, even where the person is switched off
Second factor / cli user second-factor-reset <- second-factor: a lost one > is reset by the operator
PATCH /organization / request / require_second_factor <- second-factor: an organization that requires one > lets nobody act who has none, but for signing in and setting one up; keys go on
Second factor / 403 SECOND_FACTOR_MISSING within 10 seconds <- second-factor: an organization that requires one > counts in the others within ten seconds, and only there
GET /identity-provider <- identity: the provider > is set, shown without its secret, replaced and removed by admins who signed in
PUT /identity-provider <- identity: the provider > is set, shown without its secret, replaced and removed by admins who signed in
PUT /identity-provider / 422 PROVIDER_UNREACHABLE <- identity: the provider > is refused when it names another issuer, sends elsewhere, or answers too much
PUT /identity-provider / request / required <- identity: a session of the provider > may require the provider: passwords open nothing here, keys go on, the operator lifts it
DELETE /identity-provider <- identity: the provider > is set, shown without its secret, replaced and removed by admins who signed in
DELETE /users/:id/identity <- identity: signing in > links the member by a verified email, and then goes by the subject
GET /auth/oidc/:organization_id/start <- identity: signing in > returns to the console, to this computer and to listed addresses, and nowhere else
GET /auth/oidc/callback <- identity: signing in > states, codes and challenges count once
POST /auth/oidc/token <- identity: signing in > states, codes and challenges count once
POST /auth/oidc/:organization_id/logout <- identity: a session of the provider > ends at the word of the provider, which counts once
POST /auth/oidc/:organization_id/logout / other processes <- sign-in-processes: a session that its provider ends in one process ends in the other within ten seconds
Identity provider / ID tokens are checked <- identity: signing in > refuses an ID token with %s
Identity provider / keys <- identity: signing in > refuses a token of another key or without a signature, and asks for a new key once a minute
Identity provider / members by domain or claim, roles by claim <- identity: signing in > makes members of a domain or by a claim, once; the claim sets the role, and the last admin stays
Identity provider / emails that are verified <- identity: signing in > takes no email that is not verified, unless the organization trusts it, and no unknown person
Identity provider / a silent provider <- identity: signing in > says within ten seconds that a provider does not answer, and nobody else waits
Identity provider / sessions act in one organization <- identity: a session of the provider > acts in its organization alone, and may not touch the account
Identity provider / If-Match <- identity: the provider > is set and removed under If-Match as other objects are
Identity provider / people of other organizations are invited <- identity: signing in > invites a person whose address another organization knows, and changes nothing there
Identity provider / invitations are accepted <- identity: signing in > takes the invitation of a person, but none that has expired
Identity provider / the operator lifts required <- identity: a session of the provider > no longer has to be used once the operator says so
Identity provider / codes of others <- identity: a code of the provider of one organization does not reach the hostile provider of another
Identity provider / sessions end <- identity: a session of the provider > ends with the provider, another client, or the membership
Identity provider / a hostile tenant <- identity: a hostile tenant whose provider claims the admin of another opens nothing there
GET /stats / hour, day, month <- stats: figures > count mail in by outcome, mail out by fate, and requests by answer, in every period
GET /stats / webhooks <- stats: figures > count attempts of webhooks with their time
GET /stats / the same on every replica <- stats: figures > of several processes are added up, and lost by none that the database refuses
GET /stats / admins <- stats: figures > are those of the organization alone, and for admins
GET /outbound-messages <- outbound-messages: lists what was sent, what failed and what waits, newest first, with the words of the server
GET /outbound-messages / permission <- key-routes: every route > without its permission is 403 and says which it is, whatever else the key may do
GET /outbound-messages / other organizations <- tenancy: every route > that reads tells nothing of another organization
cli outbox resend <- outbound-messages: the operator sends all failed emails of an organization again
GET /retention <- retention: rules > are read and changed by admins, read by keys with the permission, and audited
PATCH /retention <- retention: rules > wait a day after each change, and apply once a day
POST /retention/preview <- retention: rules > a preview counts by the first rule that fits a ticket, and what is on hold, and changes nothing
Retention / erase <- retention: rules > erase what a ticket says, once; the contact, the code and other tickets stay
Retention / merged tickets, changes meanwhile <- retention: rules > take with a ticket what was merged into it, and leave what changed meanwhile
Retention / 422 ON_HOLD <- retention: what is on hold > stays: the ticket, the contact, the label and what the jobs would remove
Retention / hold, only admins unlabel <- retention: what is on hold > is released by admins alone
Retention / hold, merge and split <- retention: what is on hold > is not freed by a merge, a split, or the undoing of a merge
GET /tickets/:ticket_id/recipients <- mail-recipients: the recipients that the API tells are those of the next email, with the mailbox that sends it
Participants / left out by the contact's proven reply <- mail-recipients: whom the contact leaves out of a proven reply that names others gets no further answer
Participants / left out by a reply to us alone <- mail-recipients: a reply to us alone takes nobody out and marks whom it leaves out, until a reply names them
POST /tickets/:ticket_id/messages/:message_id/resend <- resend: a failed email goes out again with the same Message-ID, to the address that the contact has now
POST /tickets/:ticket_id/messages/:message_id/resend / 422 EMAIL_SEND_FAILED <- resend: it is refused > when no mailbox can send
POST /tickets/:ticket_id/messages / request / after <- after: after: the last message, or null while there is none, is taken
POST /tickets/:ticket_id/messages / 412 PRECONDITION_FAILED, details messages and total, nothing stored <- after: a message or note that came after is PRECONDITION_FAILED, with the first 20; nothing is stored or sent
POST /tickets/:ticket_id/messages / after / 422 MESSAGE_NOT_FOUND <- after: a message that is unknown, deleted, of another ticket or organization is MESSAGE_NOT_FOUND
POST /tickets/:ticket_id/messages / after / checked last, If-Match ignored <- after: after is checked last, and If-Match stays ignored
POST /tickets/:ticket_id/messages / after / of two, one wins <- after: of ten with one after, one wins
POST /tickets/:ticket_id/messages / after / against mail, too <- after: mail that waited while an answer was written comes after it, and is not gone over
POST /tickets / request / parent_id <- parents: a parent is given by a create and a PATCH, shown everywhere, filtered by, and taken away
Ticket / parent / never below itself <- parents: a ticket is never below itself
Ticket / parent / of two at once <- parents: of two that would make a ring at once one is refused
Ticket / parent / 422 TICKET_NOT_FOUND <- parents: an unknown, deleted or foreign parent is refused, and nothing is changed
Ticket / parent / merged, deleted <- parents: of a merged parent its target is shown, its own again after that is undone, and none once it is deleted
Ticket / parent / erase <- parents: the erasure of a person takes the subject of a parent out of events of its parts
POST /tickets / request / message <- begin: the first message is the caller's, and leaves without Re: and threading headers
POST /tickets / message / files, send_email, events <- begin: files go along, send_email: false sends nothing, and the events come in their order
POST /tickets / request / contact <- begin: the contact is found by any of its addresses, however written, or made
POST /tickets / contact / of two at once one is made <- begin: two at once make one contact
POST /tickets / message, contact / 422 <- begin: %j is refused and leaves nothing behind
POST /tickets / message, contact / Idempotency-Key <- begin: the same Idempotency-Key gives the same ticket, and mail is sent once
POST /tickets / message, contact / rights of keys <- begin: a key needs messages:write for the message, and contacts:write for the contact
GET /tickets/:ticket_id / query / include <- include: each part is what its own endpoint gives it
GET /tickets/:ticket_id / include / empty or unknown: 422 <- include: %j is refused
GET /tickets/:ticket_id / include / first pages <- include: lists end at their first page, the newest 50 of the activity and 10 other tickets
GET /tickets/:ticket_id / include / viewing without entering <- include: viewing is read without entering
GET /tickets/:ticket_id / include / rights as there <- include: a key gets what it may read, and 403 for the rest
GET /tickets/:ticket_id / include / the tag for 304 <- include: the tag for 304 covers all that is shown
GET /messages <- all-messages: GET /messages has all messages of the organization, oldest first, as events have them
GET /messages / without those of deleted tickets <- all-messages: the messages of a deleted ticket are in no page and not counted
POST /tickets/bulk <- bulk: tickets by ids > each is changed like by PATCH, with its events and activity, in the order given
POST /tickets/bulk / each ticket wholly or not <- bulk: tickets by ids > what one refuses stands in its result, and it stays wholly as it is
POST /tickets/bulk / request / filter | cursor <- bulk: tickets by filter > come 100 a call, newest first, and next_cursor leads on
POST /tickets/bulk / filter / as in the list <- bulk: tickets by filter > match as in the list, whatever the filter
POST /tickets/bulk / request / dry_run <- bulk: a dry run answers the same and changes nothing
POST /tickets/bulk / faults of the request: 422, nothing done <- bulk: a request at fault changes nothing > %j is %s at %s
POST /tickets/bulk / not reached in 25 s: SERVICE_UNAVAILABLE <- bulk: a ticket that somebody holds, and those after it, are SERVICE_UNAVAILABLE when the time is over
GET /domains/:domain_id/records <- domain-records: each record is told as it should be and as it is found
GET /auth/me / notify / of the membership that X-Organization-Id names <- notify: each membership has its own, and members of before get no mail
PATCH /auth/me / notify / of an organization that is not the own <- notify: of an organization that is not the own there is nothing
PATCH /auth/me / notify / a session of an identity provider <- identity: a session of the provider > acts in its organization alone, and may not touch the account
POST /tickets/:ticket_id/messages / mention_user_ids <- mentions: a note shows the members that it names, each once and by name, in lists and events too
POST /tickets/:ticket_id/messages / mention_user_ids / USER_NOT_FOUND, VALIDATION_ERROR <- mentions: a message that names %s is refused, and a draft
POST /tickets/:ticket_id/drafts / mention_user_ids <- mentions: a draft names them too, until it is a reply, and its note keeps them
letters to members / assigned <- member-letters: who gets a ticket is told at once, with its subject and a link
letters to members / reply_on_mine, mentioned <- member-letters: a note tells those that it names, a reply of the customer the assignee
letters to members / new_unassigned <- member-letters: a ticket that nobody has is told to those who ask for it, whoever opens it
letters to members / never of an own act <- member-letters: nobody is told of an own act
letters to members / not while one looks <- member-letters: nobody is told who looks at the ticket, and the next letter does not wait
letters to members / NOTIFY_GROUP_SECONDS <- member-letters: of one ticket the first letter leaves at once, and what follows as one, however much it is
letters to members / answered <- letter-answers: the answer of a member to a letter, by %s, goes to the customer without what the letter says
letters to members / about a note / answered <- letter-answers: what %s answers to a letter about a note is a note
letters to members / answered by anybody else <- letter-answers: from %s the id and address of a letter about a %s lead nowhere
GET /drafts <- drafts: drafts are listed newest first, by ticket, author and stale, with cursors
GET /drafts / filter / ticket_id | author_id | stale <- drafts: drafts are listed newest first, by ticket, author and stale, with cursors
GET /drafts/:draft_id <- drafts: a draft shows its ticket, author, text, files and what it is based on, and tells nobody
POST /tickets/:ticket_id/drafts <- drafts: a draft shows its ticket, author, text, files and what it is based on, and tells nobody
POST /tickets/:ticket_id/drafts / code / DRAFT_EXISTS <- drafts: how many: > a person has one reply and one note in a ticket, also of two at once
POST /tickets/:ticket_id/drafts / 20 of a key <- drafts: how many: > an API key has 20 in a ticket, replies and notes
PATCH /drafts/:draft_id <- drafts: stale: > a reply is, once a public message came that it is not based on; based_on clears it
PATCH /drafts/:draft_id / code / MESSAGE_NOT_FOUND <- drafts: stale: > based_on is a public message of the ticket, else MESSAGE_NOT_FOUND
PATCH /drafts/:draft_id / 403 <- drafts: rights: > a person's draft is read by all, changed by its author alone, and removed by admins too
DELETE /drafts/:draft_id <- drafts: rights: > a key's draft is changed by itself and every person, by no other key
Drafts / drafts:write uploads, never sends <- drafts: rights: > a key needs drafts:read or drafts:write; the latter uploads and never sends
Drafts / attachments are used by it <- drafts: its files are used: by nothing else, and not removed after a day; what it gives up is unused again
Drafts / go with ticket and membership <- drafts: drafts go with their ticket and with the membership of their author
Drafts / no events, activity <- drafts: a draft shows its ticket, author, text, files and what it is based on, and tells nobody
POST /tickets/:ticket_id/drafts / request / send_at | unless_answered <- send-later: at its moment it is a message of its author, with its files, by email, once, and never before
POST /tickets/:ticket_id/drafts / request / send_at: future, within a year, public <- send-later: a moment %s is refused at its path, and changes nothing
POST /tickets/:ticket_id/drafts / 20 that are sent later <- send-later: attacks: > who is greedy has 20 that wait in a ticket, also of several people and at once
PATCH /drafts/:draft_id / request / send_at <- send-later: its moment is moved, taken back and set again; null ends it, and the draft is one of the person again
PATCH /drafts/:draft_id / send_at of a key's <- send-later: attacks: > an API key sends nothing later, whatever it may do, and no more changes what a person sends later
PATCH /drafts/:draft_id / a key's after a person <- send-later: attacks: > what a person has changed of it is not changed, sent or deleted by the key
Drafts / send_at / once, never early <- send-later: in any order of acts each draft is sent once, at its moment, and never after what ends it
Drafts / send_at / a restored service waits <- send-later: a restored service waits
Drafts / unless_answered, send_error / DRAFT_STALE <- send-later: kept: > unless_answered, once a public message has come since based_on; without it, it is sent
Drafts / send_error / USER_NOT_FOUND <- send-later: kept: > when its author is deactivated; it leaves when the author is back in time
Drafts / send_error / USER_NOT_FOUND / every person takes it <- send-later: kept: > when its author is removed, at once: every person may take it, send it or delete it
Drafts / send_error / TICKET_MERGED <- send-later: kept: > when a merge moves it, at once; those of the target go on
Drafts / send_error / INVALID_STATUS <- send-later: kept: > when the ticket is closed, but not when it is resolved
Drafts / send_error / EMAIL_SEND_FAILED <- send-later: kept: > when nothing can send: no contact, or no mailbox; its files stay
Drafts / send_error / ATTACHMENT_INFECTED <- send-later: kept: > when a file is found to be infected
POST /drafts/:draft_id/send <- send-draft: a key's draft that a person sends is a message of that person, with its files, and says who wrote it
POST /drafts/:draft_id/send / code / DRAFT_STALE <- send-draft: a stale draft is DRAFT_STALE with the messages that came, also when they were mail; it stays and can be sent later
POST /drafts/:draft_id/send / errors keep it <- send-draft: an error keeps the draft and its files
POST /drafts/:draft_id/send / once <- send-draft: of ten who send it at once one makes a message
POST /drafts/:draft_id/send / Idempotency-Key <- send-draft: a repeated Idempotency-Key gets the first answer although the draft is gone; two at once make one message
POST /drafts/:draft_id/send / If-Match <- send-draft: the tag that was read counts
POST /drafts/:draft_id/send / changes <- send-draft: changes of the ticket are made with the message, or neither is; a key needs the right to both
POST /tickets/:ticket_id/merge <- merge: a merge > moves messages and time, closes the source, and tells so
POST /tickets/:ticket_id/merge / request / source_ids <- merge: it is refused > for itself, unknown and foreign tickets, those of another merge, and too many
POST /tickets/:ticket_id/merge / of A into B and B into A one wins <- merge: it is refused > of A into B and B into A at once one wins
POST /tickets/:ticket_id/merge / time keeps rate, currency and company <- merge: a merge > keeps the company of time in filters, sums and the export, also when that changes later
POST /tickets/:ticket_id/merge / participants and contact <- merge: a merge > lists who took part on the target, each address once, and not its contact
POST /tickets/:ticket_id/merge / running timers <- merge: a merge > takes running timers along, which log their time on the target
POST /tickets/:ticket_id/merge / search <- merge: a merge > finds messages at the target, subject and code at the source
POST /tickets/:ticket_id/merge / mail by each rule <- merged-mail: mail to a merged ticket > comes to the end of the chain by %s, and reopens it
POST /tickets/:ticket_id/merge / mail while it runs <- merged-mail: mail to a merged ticket > never comes to a closed source while merges run
POST /tickets/:ticket_id/merge / export and erasure where it was written <- merged-mail: a person of a merged ticket > of %s is exported and erased alone
GET /tickets / query / merged <- merge: a merge > is found by the filter merged, alone and with others, with exact totals
Merged tickets / code / TICKET_MERGED <- merge: a merged ticket > refuses every write, by itself and in bulk
Merged tickets / deleted with the target, passed over by the retention <- merge: a merged ticket > goes with its target, each with an event, keeps its time, and is passed over by the retention
POST /tickets/:ticket_id/unmerge <- merge: a merge > and its undoing in any order of a chain leave everything as it was
POST /tickets/:ticket_id/unmerge / code / UNMERGE_EXPIRED | TICKET_NOT_MERGED <- merge: it is refused > to undo it after 30 days
POST /tickets/:ticket_id/unmerge / changes and deletions since are kept <- merge: what was written since stays at the target, what was deleted stays deleted
POST /tickets/:ticket_id/split <- merged-mail: a split > opens a ticket as if the oldest message of a customer had, and a merge undoes it
POST /tickets/:ticket_id/split / without a message of a customer <- merged-mail: a split > without a message of a customer takes what the old ticket has; its messages stay when a merge is undone
POST /tickets/:ticket_id/split / code / MESSAGE_NOT_FOUND <- merged-mail: a split > of messages of another ticket, or of none, is refused and changes nothing
POST /mailboxes/:mailbox_id/inlet <- inlets: an inlet > is opened and closed by who may write mailboxes; the URL is told once, and the key never
POST /mailboxes/:mailbox_id/inlet / request / provider, signing_key <- inlets: an inlet > is refused with %s
POST /mailboxes/:mailbox_id/inlet / the former works 24 hours more <- inlets: an inlet > works 24 hours more when another follows, with its own provider, and not when it is closed
DELETE /mailboxes/:mailbox_id/inlet <- inlets: an inlet > is opened and closed by who may write mailboxes; the URL is told once, and the key never
Mailbox / field / inlet <- inlets: an inlet > is opened and closed by who may write mailboxes; the URL is told once, and the key never
POST /inbound/:token / raw, postmark, cloudmailin, mailgun, sendgrid <- inlets: %s > brings an email byte by byte, with its envelope, once however often it is posted
POST /inbound/:token / code / INVALID_SIGNATURE <- inlets: %s > is refused without its signature or with a wrong one, and leaves nothing
POST /inbound/:token / code / MAILBOX_NOT_FOUND <- inlets: an inlet > is closed while its mailbox is off, or may not use its address, and when it is deleted
POST /inbound/:token / code / PAYLOAD_TOO_LARGE, VALIDATION_ERROR <- inlets: %s > must have an original that is neither missing, empty nor too large
POST /inbound/:token / the token names the mailbox <- inlets: what is posted > is for the mailbox of the token, whatever address it names
POST /inbound/:token / +tag <- inlets: what is posted > finds its ticket by the tag of the recipient, at whichever address, and no other organization’s
POST /inbound/:token / Authentication-Results <- inlets: what is posted > proves no sender by fields that anybody can write, even from the address of a trusted relay
POST /inbound/:token / rate limit <- inlets: an inlet > has no limit of requests, but guesses of tokens have
GET /sender-rules <- spam: sender rules > are listed, replaced and removed by who may write inbound messages
POST /sender-rules <- spam: sender rules > are listed, replaced and removed by who may write inbound messages
DELETE /sender-rules/:sender_rule_id / code / SENDER_RULE_NOT_FOUND <- spam: sender rules > are listed, replaced and removed by who may write inbound messages
Sender rules / address beats domain; From or envelope <- spam: sender rules > block by From or the envelope, a domain with those below it; an address comes before its domain
Sender rules / anchors, members, forged senders <- spam: sender rules > block answers too, whatever the policy, but no member; and allow no forged sender
POST /inbound-messages/:inbound_message_id/release <- spam: a release > files what is held, unjudged, with its files; an answer to it finds it
POST /inbound-messages/:inbound_message_id/release / code / NOT_HELD <- spam: a release > is of what is held, with its original
Spam / relay <- spam: the fields %j of a relay say %j
Spam / held <- spam: spam by the word of a trusted relay > is held: no ticket, contact or file, and its row says so, once however often it comes
Spam / spam_policy <- spam: spam by the word of a trusted relay > is filed when the policy is to mark it; what is no spam is filed with its score
Spam / anchors, proven contacts <- spam: spam by the word of a trusted relay > holds no answer with an anchor of ours, and no contact whose sender is proven
Spam / rspamd <- spam: rspamd > its action %p with %p becomes %s
Viruses / scan <- scan: an upload > is clean, infected or too large for the scanner; one that is infected leaves nothing
Viruses / scan / null <- scan: an upload > is not scanned without a scanner, and nothing waits for one that is gone
Viruses / content / ATTACHMENT_INFECTED, 503 <- scan: content > of a pending file is 503, of an infected one 403: by token, link, HEAD, Range and If-None-Match
Viruses / original of mail <- scan: mail > is filed with an infected file, which nobody gets, nor the original
Viruses / clamd away, 10 s <- scan: mail > waits some 10 seconds for a silent clamd, and not again; the job scans its files when clamd is back
Viruses / not in a message <- scan: a message > with an infected file is refused, and so is a draft
Viruses / not sent <- scan: a message > with a pending file waits, and is sent once the file is clean; an infected one fails it
Viruses / customers and imports <- scan: customers and imports > are no way around the scan
Spam / rspamd / 5 s, no answer: none <- spam: rspamd > that is away or silent says nothing within some 5 seconds
GET /teams <- teams: a team is made, read by everybody, listed by name, changed and deleted by admins
POST /teams <- teams: a team is made, read by everybody, listed by name, changed and deleted by admins
POST /teams / code / TEAM_NAME_EXISTS | USER_NOT_FOUND <- teams: a name that is taken, a member who is none and a value that is none are refused, and nothing changes
POST /teams / admins and keys with teams:write <- teams: an attack: > agents and keys of other rights read or write no team
GET /teams/:team_id <- teams: a team is made, read by everybody, listed by name, changed and deleted by admins
PATCH /teams/:team_id <- teams: a team is made, read by everybody, listed by name, changed and deleted by admins
DELETE /teams/:team_id <- teams: a team is made, read by everybody, listed by name, changed and deleted by admins
DELETE /teams/:team_id / emptied <- teams: a team that goes leaves its tickets and mailboxes to none, whose assignees stay
Teams / removed members leave member_ids <- teams: who leaves the organization leaves its teams
Teams / available <- teams: available > is set by oneself and by admins, in the organization that is meant
Teams / available / X-Organization-Id <- teams: available > of another organization is neither shown nor set
Teams / isolation <- teams: an attack: > another organization's team is nobody's: not read, not changed, not given to a ticket, mailbox, macro or webhook
Teams / assign / 16 at once <- assignment: 16 at once > of %s: each member gets the same number in turn
Teams / capacity / 16 at once <- assignment: 16 at once > of %s: nobody gets more than the capacity, and the others stay unassigned
Teams / capacity / all tickets of the member <- assignment: 16 at once > by two teams with a common member: both count what the other one gives
Teams / assign / least_open <- assignment: 16 at once > to whom has the fewest
Teams / assign / active, available <- assignment: 16 at once > beside deactivations, changed members and removals: it goes on, and who is away gets no more
Teams / capacity later takes nobody in <- assignment: capacity that comes later takes nobody in, and a ticket that stays in its team is given to nobody
Teams / one ticket.updated, ticket.assigned, activity by system <- assignment: team and assignee are one ticket.updated, with ticket.assigned; the timeline says who did which
Teams / macros, bulk <- assignment: every way that brings a ticket to a team gives it: > a macro and bulk changes
Teams / mail, portal, split <- assignment: every way that brings a ticket to a team gives it: > mail to a mailbox with a team, what is split from it, and what a customer opens at the default mailbox
Webhooks / a filter whose last thing goes: failed, never widened <- teams: what names a thing that goes: > a webhook whose filter names a %s is narrowed, and fails with the last one
Macros / what names a team, label or member that goes is emptied <- teams: what names a thing that goes: > a macro changes it no more
Teams / import <- import: an import brings everything with its times, and no event but one at its end
Teams / export <- import: an export that is imported elsewhere and exported again is the same
Teams / Zendesk's and Zammad's groups <- convert: groups of Zendesk and Zammad become teams with their agents, those of one name one
Teams / team_ids in webhook filters <- assignment: webhooks with team_ids get what is, or was, of the team
GET /schedules <- schedules: a schedule is made, read by everybody, listed by name, changed and deleted by admins
POST /schedules <- schedules: a schedule is made, read by everybody, listed by name, changed and deleted by admins
POST /schedules / code / SCHEDULE_NAME_EXISTS <- schedules: a name that is taken, and hours and days that are none are refused, and nothing changes
POST /schedules / admins and keys with schedules:write <- schedules: an attack: agents, keys of other rights and other organizations read or write no schedule
GET /schedules/:schedule_id <- schedules: a schedule is made, read by everybody, listed by name, changed and deleted by admins
PATCH /schedules/:schedule_id <- schedules: a schedule is made, read by everybody, listed by name, changed and deleted by admins
DELETE /schedules/:schedule_id <- schedules: a schedule is made, read by everybody, listed by name, changed and deleted by admins
Schedules / a time that a change of clock skips begins after it <- business-time: a time that a change of clock skips begins after it, one that it repeats counts twice
Schedules / minutes <- business-time: minutes are those that the clocks show, one by one
GET /sla-policies <- sla-policies: a policy is made, read by everybody, listed by position, changed and deleted by admins
POST /sla-policies <- sla-policies: a policy is made, read by everybody, listed by position, changed and deleted by admins
POST /sla-policies / code / SLA_POLICY_NAME_EXISTS | SCHEDULE_NOT_FOUND <- sla-policies: a name or position that is taken and values that are none are refused, and nothing changes
POST /sla-policies / admins and keys with sla_policies:write <- sla-policies: an attack: > agents, keys of other rights and other organizations read or write no policy
GET /sla-policies/:sla_policy_id <- sla-policies: a policy is made, read by everybody, listed by position, changed and deleted by admins
PATCH /sla-policies/:sla_policy_id <- sla-policies: a policy is made, read by everybody, listed by position, changed and deleted by admins
DELETE /sla-policies/:sla_policy_id <- sla-policies: a policy is made, read by everybody, listed by position, changed and deleted by admins
SLA policies / isolation <- sla-policies: an attack: > another organization's things are named by no policy
SLA policies / 16 at once <- sla-policies: 16 at once get a position each, and nobody has more than 100
SLA policies / a filter whose last thing goes: switched off <- sla-policies: what a policy names and is deleted: > a %s narrows its filter, and the last one switches it off
SLA policies / a schedule that goes: switched off <- sla-policies: what a policy names and is deleted: > a schedule switches it off, and the admins are told once a day
GET /rules <- rules: a rule is made, read by everybody, listed by name, changed and deleted by admins
POST /rules <- rules: a rule is made, read by everybody, listed by name, changed and deleted by admins
POST /rules / code / RULE_NAME_EXISTS | MACRO_NOT_FOUND | INVALID_EVENTS | LABEL_NOT_FOUND <- rules: what is wrong is refused, and nothing changes
POST /rules / 50 <- rules: an organization has at most 50, also when two are made at once
POST /rules / admins, and keys with tickets:write, messages:write and the event's read right <- rules: an attack: > agents write no rule, and a key only one that does what it may do itself
GET /rules/:rule_id <- rules: a rule is made, read by everybody, listed by name, changed and deleted by admins
PATCH /rules/:rule_id <- rules: a rule is made, read by everybody, listed by name, changed and deleted by admins
DELETE /rules/:rule_id <- rules: a rule is made, read by everybody, listed by name, changed and deleted by admins
Rules / isolation <- rules: an attack: > another organization's rule, macro and label are nobody's
Rules / a macro of a rule: admins and such keys, 403 <- rules: an attack: > a macro of a rule is changed and deleted by admins and such keys alone
Rules / a macro that goes: switched off <- rules: what a rule names and goes > a macro switches it off until it gets another one; admins are told once a day
Rules / a filter whose last thing goes: switched off <- rules: what a rule names and goes > a label narrows its filter, and the last one switches it off
Rules / actor, sender, Auto-Submitted, waiting_since <- apply-rules: a rule applies its macro: the answer is the mailbox’s, a machine’s, and nobody’s of the team
Rules / in the order of names <- apply-rules: rules of a change are applied in the order of their names, and one that is off is not
Rules / filter <- apply-rules: a filter is judged at the change, by the ticket before and after it
Rules / no answer to auto_reply, lists, reports <- apply-rules: an attack: mail that a machine wrote > %s gets no answer; the changes are made
Rules / no answer to sender_verified false <- apply-rules: an attack: mail that a machine wrote > forged mail gets none
Rules / two desks <- apply-rules: an attack: mail that a machine wrote > two desks that answer each other end after one answer
Rules / one answer in 24 hours <- apply-rules: an attack: mail that a machine wrote > a rule answers an address on a ticket once in 24 hours, whatever it writes
Rules / one answer in 24 hours / unsent <- apply-rules: an attack: mail that a machine wrote > a public message that cannot leave counts, too, until a day is over
Rules / what a rule did starts no rule <- apply-rules: an attack: circles > a rule starts neither itself nor another, at once, by its mail, or when it has let a ticket sleep
Rules / once in effect <- apply-rules: an attack: circles > whatever rules wait for and do, each of a change is done once, and no more follows
Rules / once in effect / kill -9 <- apply-rules: in flight: > a worker that dies between effect and settle does it once
Rules / fair lanes <- apply-rules: an attack: a flood of one organization holds up no other
Rules / in flight <- apply-rules: in flight: > a macro that is changed, a rule that is switched off and a ticket that goes are seen
Rules / failed after five tickets of three tries <- apply-rules: failing: > five tickets in a row make a rule fail; admins are told, and active true revives it
Ticket / sla / first_reply, next_reply <- promises: a first reply is promised from the creation, the next from the first message that waits
Ticket / sla / resolve, pending pauses it <- promises: pending pauses the end, and resolving keeps it; a ticket that is open again goes on
Ticket / sla / policy <- promises: the first policy that fits counts, at the creation and when what it names changes
Ticket / sla / changed policies and schedules <- promises: a changed policy or schedule computes open tickets anew, from the begin of the promise
Ticket / sla / merged, split, deleted <- promises: a mail, what a merge takes in, what is split, and what is deleted
Webhooks / ticket.sla_due_soon, ticket.sla_breached <- promises: who follows is told > once when a promise is due soon, and once when it is breached, also when its minutes grow later
Ticket / sla / in any order <- kept-promises: in any order of acts promises are as if they were computed from scratch
Ticket / sla / a clock of minutes <- promises-of: promises are those that a clock of minutes finds
Ticket / sla / a review that dies <- kept-promises: a review whose process died is ended by another one
Ticket / sla / at once <- kept-promises: answers and changes at once leave one promise of each metric
Ticket / sla / isolation <- kept-promises: an attack: policies of another organization promise nothing here
Ticket / sla / outbox <- promises: who follows is told > by a row of the outbox, which goes with the last promise
GET /macros <- macros: a macro is made, read, listed by name, changed and removed
POST /macros <- macros: a macro is made, read, listed by name, changed and removed
POST /macros / code / MACRO_NAME_EXISTS | INVALID_VARIABLE <- macros: a name that is taken, an unknown variable, value or id is refused, and nothing changes
GET /macros/:macro_id <- macros: a macro is made, read, listed by name, changed and removed
PATCH /macros/:macro_id <- macros: a macro is made, read, listed by name, changed and removed
DELETE /macros/:macro_id <- macros: a macro is made, read, listed by name, changed and removed
POST /macros/:macro_id/preview <- macros: variables > have the values of ticket, contact, company, caller and organization; empty when absent
POST /macros/:macro_id/preview / escaped, expanded once <- macros: variables > are expanded once, escaped in HTML, and turn no text into HTML
POST /macros/:macro_id/apply <- macros: applying > writes the message, sends it, then makes the changes, with their events
POST /macros/:macro_id/apply / all or nothing <- macros: applying > is all or nothing: what a change refuses takes the message back
POST /macros/:macro_id/apply / tickets:write and messages:write <- macros: applying > needs tickets:write and messages:write of a key, a preview tickets:read
Mailbox / field / smtp.auth <- token-sign-in: settings > show no secret, and neither do audit log and database
Mailbox / field / signature <- macros: the signature of a mailbox > stands below public answers, in the email only, as text and HTML, and no other text does
Mailbox / field / quote <- quoted-history: the setting of a mailbox > is last unless one is given, can be changed, and stands in the audit log
Mailbox / field / quote / none for those of before <- quoted-history: the setting of a mailbox > is none for mailboxes of before
GET /tickets/:ticket_id/recipients / quote <- quoted-history: the setting of a mailbox > is told beside the recipients
Quoted history / the newest, of an email its reply_text <- quoted-history: below an answer > stands the newest earlier message, in the email only, of an email its new words
Quoted history / whoever wrote it <- quoted-history: below an answer > stands what the team wrote when that is newer, in the name that the customer sees
Quoted history / all, newest first; never notes <- quoted-history: below an answer > stand all of them when that is wanted, newest first, and never a note
Quoted history / nothing to quote: no line <- quoted-history: below an answer > stands nothing when there is nothing to quote, and no line
Quoted history / pictures not sent again <- quoted-history: below an answer > pictures are not sent again
Quoted history / below the signature, German <- quoted-history: below an answer > stands below the signature, in German when the words are
Quoted history / 20 messages <- quoted-history: below an answer > stand 20 messages at most
Quoted history / 100,000 bytes, cut at a character and marked <- quoted-history: below an answer > stand 100,000 bytes at most, cut at a character and marked
Drafts / quote <- quoted-history: a draft keeps its own choice until it is sent
Quoted history / the same at each attempt <- quoted-history: each attempt > says the same, whatever was written, set or merged since
Quoted history / deleted or erased meanwhile <- quoted-history: each attempt > leaves out who was erased meanwhile, and later answers never quote them
Quoted history / cut by reply_text, threads <- quoted-answers: an answer to quoted words in %s > of %s threads and shows its new words alone
Quoted history / comes back: own <- quoted-answers: our own email that comes back > is known with all that it quotes: %s
Custom fields / of tickets, contacts and companies <- custom-fields: %s > have none at first, keep what they are given, and a PATCH merges
Custom fields / filter <- custom-fields: %s > are found by a value as JSON writes it, or by one of a list, and by all filters together
Custom fields / code / INVALID_CUSTOM <- custom-fields: %s > wrong ones are refused with their place, all at once, and change nothing
Custom fields / changes.custom <- custom-fields: an event and the timeline tell the changed fields of a ticket alone, and no change tells nothing
Custom fields / total <- custom-fields: the total of one custom field is exact, however the tickets change
Custom fields / bulk <- custom-fields: many tickets get fields by one request, which finds them by fields
Custom fields / erasure <- erase: erasing a person > leaves no trace in any column of any table and in any file
GET /views <- views: views come by name, a page at a time: shared ones, and a person’s own
POST /views <- views: a view keeps name, filter and sort, is private at first, and is changed field by field
POST /views / request / filter: as in the list <- views: a wrong filter is refused as in the list, with all faults, and saves nothing
POST /views / 100 of an owner <- views: an owner has 100 views, also when several are made at once
GET /views/:view_id <- views: a view keeps name, filter and sort, is private at first, and is changed field by field
PATCH /views/:view_id <- views: a view keeps name, filter and sort, is private at first, and is changed field by field
DELETE /views/:view_id <- views: a view keeps name, filter and sort, is private at first, and is changed field by field
Views / code / VIEW_NOT_FOUND <- views: a private view of another is unknown, for an admin too; a shared one is changed by its owner and by admins
Views / keys: shared, without an owner <- views: an API key makes shared views without an owner, which keys and admins change
Views / of a removed member <- views: with a removed member private views go, and shared ones stay without an owner
GET /tickets / query / view_id <- views: a list by a view has its filter and sort; what is given replaces them, and a cursor is bound to both
GET /tickets / query / assignee_id=me|none <- views: assignee_id=me are the reader’s tickets, of no API key; none are those without an assignee
GET /events <- feed: an item is the body that webhooks get, the same bytes, with the id of the event in front
GET /events / one order <- event-places: events stand in the order of the commits, those of one transaction together
GET /events / cursors <- feed: a walk by cursors shows each event once, in order, and goes on with what comes later
GET /events / nothing missed <- feed: what is not committed is not there, is shown after what committed before it, and is missed by nobody
GET /events / start <- feed: start is the oldest, now, or a time
GET /events / filters <- feed: filters leave out the rest, and the cursor passes it
GET /events / rights <- feed: a key sees what it may read, and is refused what it names beyond that
GET /events / 410 CURSOR_EXPIRED <- feed: what is older than the retention goes with its cursors; deliveries keep what they need
GET /events / erased <- feed: an erased event stays in its place, with ids only
GET /events/stream <- stream: a stream has its place at once, and each event in order with its cursor, as pages have it
GET /events/stream / Last-Event-ID <- stream: it goes on behind a cursor, and Last-Event-ID goes before
GET /events/stream / query / notices <- notices: a stream that asks for them hears who comes, writes and leaves, and no cursor moves
GET /events/stream / query / notices / others <- notices: others hear nothing: another organization, keys, customers, refused changes, streams that do not ask
GET /events/stream / query / notices / viewing by time <- notices: a stream is told when time alone ends that somebody has a ticket open
GET /events/stream / query / notices / draft <- notices: a draft is told to all people, with the number that the ticket has
GET /events/stream / query / notices / read <- notices: a read mark is told to the streams of its person alone
GET /events/stream / limits <- stream: a user has ten streams at a time, an organization as many as the setting says
PUT /tickets/:ticket_id/viewing <- viewing: viewing a ticket shows the others who have it open, by name, and who writes
PUT /tickets/:ticket_id/viewing / counts 60 seconds <- viewing: it counts for 60 seconds, or until it is ended, and the row is removed
PUT /tickets/:ticket_id/viewing / no events <- viewing: it tells no event and leaves the ticket as it is
PUT /tickets/:ticket_id/viewing / no keys <- viewing: a wrong body, an API key, an unknown, deleted or foreign ticket change nothing
DELETE /tickets/:ticket_id/viewing <- viewing: it counts for 60 seconds, or until it is ended, and the row is removed
PUT /tickets/:ticket_id/viewing / request / read_to <- read-marks: viewing marks too
PUT /tickets/:ticket_id/read <- read-marks: a mark goes to the newest message or to a given one, is of one person, and never goes back
PUT /tickets/:ticket_id/read / at once <- read-marks: of marks and messages that come at once none is lost, and no mark goes back
PUT /tickets/:ticket_id/read / no events <- read-marks: no event, activity or audit entry tells of marks, and events and API keys are shown none
PUT /tickets/:ticket_id/read / refused <- read-marks: a wrong body, an API key, other tickets and other organizations change nothing
PUT /tickets/:ticket_id/read / until the membership ends <- read-marks: one mark is kept of each ticket, while the ticket and the membership last
DELETE /tickets/:ticket_id/read <- read-marks: it is unread again from the newest message of somebody else on
Tickets / unread <- read-marks: messages and notes of others make a ticket unread, own ones mark, other acts do not
GET /tickets / query / unread <- condition-pairs: every filter finds some of the tickets and leaves some out
Views / unread, me / keys <- views: a shared view of unread tickets, or of my own, is for people alone
Tickets / unread / without a mark <- read-marks: without a mark a ticket is unread when it is mine or nobody’s and its newest message is new
Tickets / unread / merge <- read-marks: what comes by a merge is unread, and goes with its messages
Tickets / unread / of who asks <- read-marks: many people who ask at once are each shown their own
Contacts / emails <- contact-addresses: addresses > stand in their order, each once, the primary one first
PATCH /contacts/:contact_id / request / emails, email <- contact-addresses: addresses > after %j are %j
Contacts / emails / refused <- contact-addresses: addresses > %s %j is %s at %s and changes nothing
Contacts / emails / unique over all contacts <- contact-addresses: addresses > are unique over all contacts of the organization, also at once, and not over others
Contacts / emails / search, email=, company <- contact-addresses: addresses > all find the contact, and the first of a company links it
Contacts / emails / threading <- mail-addresses: each address is the contact, and threads by the ids of others and by the code
Contacts / emails / where answers go <- mail-addresses: answers go to the address last written from in the ticket, once, else to the primary one
POST /contacts/:contact_id/merge <- merge-contacts: merging contacts > gives addresses, tickets, participations and what is lacking to the one that stays
POST /contacts/:contact_id/merge / 404 with merged_into <- merge-contacts: merging contacts > a merged contact is 404 with what it is now, and its external id names that, however often
POST /contacts/:contact_id/merge / all or nothing <- merge-contacts: merging contacts > is all or nothing
POST /contacts/:contact_id/merge / in opposite directions <- merge-contacts: merging contacts > in opposite directions at once: one wins
GET /contacts / query / external_id <- contact-addresses: an external id > is kept exactly, is unique, filters, and is free once it is cleared or the contact is deleted
Contacts / code / EXTERNAL_ID_EXISTS <- contact-addresses: an external id > is kept exactly, is unique, filters, and is free once it is cleared or the contact is deleted
PUT /contacts/by-external-id/:external_id <- contact-addresses: an external id > that is unknown is created by PUT, one that is known changed
PUT /contacts/by-external-id/:external_id / takes the contact with the email <- contact-addresses: an external id > takes the contact with the email that has none, and no other
PUT /contacts/by-external-id/:external_id / If-Match <- contact-addresses: an external id > PUT heeds If-Match
PUT /contacts/by-external-id/:external_id / at once <- contact-addresses: an external id > PUT by 16 clients at once makes one contact
PUT /contacts/by-external-id/:external_id / audit of keys <- contact-addresses: an external id > PUT by a key is listed once, with the status that it had
POST /contacts/:contact_id/tokens <- customer-tokens: a token > is made by an admin or a key that may, is shown once, and stored as a hash
POST /contacts/:contact_id/tokens / request / ttl_seconds | scope <- customer-tokens: a token > of a wrong time or scope, of no contact or one of others, is not made
DELETE /contacts/:contact_id/tokens <- customer-tokens: a token > is revoked alone or with all others of the contact, at once in this process
DELETE /contacts/:contact_id/tokens/:id <- customer-tokens: a token > is revoked alone or with all others of the contact, at once in this process
Contact tokens / code / CONTACT_TOKEN_NOT_FOUND <- customer-tokens: a token > is revoked alone or with all others of the contact, at once in this process
POST /tickets/:ticket_id/rating-request <- ratings: the contact of a resolved ticket is asked by a mail, once, and rates by a form behind its link
POST /tickets/:ticket_id/rating-request / code / RATING_REQUESTED | INVALID_STATUS <- ratings: the contact of a resolved ticket is asked by a mail, once, and rates by a form behind its link
POST /tickets/:ticket_id/rating-request / code / EMAIL_SEND_FAILED <- ratings: without a contact or a mailbox that can send nobody is asked
Ratings / the mail anchors <- ratings: an answer to the mail is a message of the ticket, also when only its id is left
Ratings / German or English <- ratings: who writes German is asked in German, also when the newest mail is on another ticket
Ratings / ask_rating_after_minutes <- ratings: after a while > the service asks, once, when the ticket was resolved and not before
Ratings / ask_rating_after_minutes / 0: at once <- ratings: after a while > 0 asks at once; a ticket that is closed and was not resolved is not asked about
Ratings / ask_rating_after_minutes / reopened <- ratings: after a while > opening by %s takes it back, resolving asks anew
GET|POST /rate/:token / asks again before it counts <- ratings: an attack on links: > who opens the link, asks for its head, or sends an empty or wrong form rates nothing
GET|POST /rate/:token / forged <- ratings: an attack on links: > a forged token, one of a request that is none, and one that was changed open nothing
GET|POST /rate/:token / 30 days, erasure, deletion, merge <- ratings: an attack on links: > a link ends %s
GET|POST /rate/:token / limited per address <- ratings: an attack on links: > an address that asks too often waits, and nobody else
Ratings / a Cc never rates <- ratings: an attack on links: > nobody in copy is asked, and no address of ours
Ratings / the newest counts, also at once <- ratings: an attack on links: > the same form again changes nothing, another one counts instead, 16 at once leave one
Ratings / a merge keeps the target's <- ratings: an attack on links: > a merge keeps the rating of the target
PUT /my/tickets/:ticket_id/rating <- ratings: on the portal > the contact of a ticket rates it when it is done, and sees that alone
Ratings / erase and export <- ratings: on the portal > export and erasure of the person take the comment
Contact tokens / end with contact, erasure, key <- customer-tokens: a token > ends within 10 seconds with %s
Contact tokens / end with the admin <- customer-tokens: a token > ends within 10 seconds when the admin who made it %s
Contact tokens / for /my alone <- customer-tokens: every route > but those of customers refuses the token of one, and changes nothing
Contact tokens / /my takes nothing else <- customer-tokens: every route > of customers refuses all other credentials
Contact tokens / 60 requests a minute <- customer-tokens: limits of customers > 60 requests a minute for each contact, over all of its tokens, whatever the setting says
Contact tokens / 10 of them POST <- customer-tokens: limits of customers > 10 of them are POST
Contact tokens / CORS / listed <- customer-tokens: a page of another origin > may use the routes of customers when the organization lists it, without cookies
Contact tokens / CORS / others <- customer-tokens: a page of another origin > is refused when the organization does not list it, and cannot read why
Contact tokens / CORS / preflight, 401, 429 <- customer-tokens: a page of another origin > asks before it sends, and reads a 401, whichever it is
Organization / portal_origins <- customer-tokens: a page of another origin > is listed as browsers write it, at most 20
GET /my/tickets <- portal: a customer sees the fields of the closed list, and no word that the team keeps for itself
GET /my/tickets / status <- portal: an answer opens the ticket again unless the organization says no, and tells events as an email's does
GET /my/tickets / cursors <- portal: tickets and messages are walked by cursor
POST /my/tickets <- portal: a customer opens a ticket, which is shown to the team as one that came by mail, from a verified sender
GET /my/tickets/:id <- portal: a customer sees the fields of the closed list, and no word that the team keeps for itself
GET /my/tickets/:id/messages <- portal: messages of strangers, and of who forged an address, are not shown; of a confirmed participant they are
GET /my/tickets/:id/messages / of merged contacts <- portal: what a contact wrote from an address of before is shown, also after it was merged, and the ticket was
GET /my/tickets/:id/messages / reply_text <- portal: of an email the new part is shown, not what it quotes
POST /my/tickets/:id/messages <- portal: an answer opens the ticket again unless the organization says no, and tells events as an email's does
POST /my/tickets/:id/messages / a colleague's <- portal: with the scope of the company colleagues see and answer the ticket, and take part in it from then on
POST /my/attachments <- portal: an upload of a customer is used by nobody else, and a customer uses no upload of others
/my / isolation <- portal-isolation: whatever is written and moved, a customer sees exactly its own, and of them exactly what may be shown
/my / erase and export <- portal-privacy: the erasure of a person leaves nothing of what it wrote at the portal, in any table
Message / field / channel <- portal-privacy: every message says how it came
GET /companies / query / external_id <- external-ids: an external id of %s > is unique, filters, and is free once it is cleared or the thing is deleted
GET /tickets / query / external_id <- external-ids: an external id of %s > is unique, filters, and is free once it is cleared or the thing is deleted
Companies, tickets / code / EXTERNAL_ID_EXISTS <- external-ids: an external id of %s > is unique, filters, and is free once it is cleared or the thing is deleted
PATCH /tickets/:ticket_id / request / contact_id <- unknown-sender: a PATCH gives the ticket its contact, once
PATCH /tickets/:ticket_id / request / external_id <- external-ids: a changed external id of a ticket is told, and stands in its timeline
PUT /companies/by-external-id/:external_id <- external-ids: PUT of a company by its external id > creates it, changes it, heeds If-Match, and refuses another id
PUT /companies/by-external-id/:external_id / at once <- external-ids: PUT of a company by its external id > by 16 clients at once makes one company
Mailbox / field / sending <- mailbox-faults: while a mailbox is at fault > a try that succeeds frees all at once, the oldest first
GET /reports/tickets <- reports: in %s from %s to %s > the figures by %s are those of the history
GET /reports/tickets / query / from, to, group_by, format <- reports: refused > %s
GET /reports/tickets / 366 days <- reports: refused > 366 days and the first and last day that a calendar has are taken
GET /reports/tickets / the same however asked <- reports: a day has the same figures in every report that has it
GET /reports/tickets / minutes of the schedule <- reports: minutes are those of the schedule of the policy that a ticket has now
GET /reports/tickets / sla <- facts: a promise counts once it is kept or breached, at that moment, and not once it is void or gone
GET /reports/tickets / ratings <- facts: the newest rating counts, on its day
GET /reports/tickets / deleted, merged, split <- facts: of merged tickets the replies count on the target; an undoing gives all of it back
GET /reports/tickets / backlog <- reports: the backlog by %s is the same, from whichever side it is counted
GET /reports/tickets / format=csv <- reports: csv > has the rows of the list
GET /reports/tickets / bom, delimiter, decimal <- reports: csv > has the form that is asked for
GET /reports/tickets / keys with reports:read <- reports: refused > a key needs reports:read, and needs no more
GET /reports/tickets / one organization <- reports: nothing of another organization is counted or named
GET /stats / findings <- stats: what waits and what needs attention > names a failed webhook, what it holds, and a missing mailbox
GET / / the console <- console-files: the page runs no script but its own file, and is in no frame of others
GET / / CONSOLE=off <- console-files: CONSOLE=off leaves a page that points to the documentation
Events / company.*, label.* <- event-types: a %s that is made, changed and deleted is told of as GET shows it
Events / company.*, label.* / no change, no event <- event-types: a request that changes nothing of a %s, or is refused, tells of nothing
Events / message.email_sent | message.email_failed <- event-types: an email that one recipient gets and another does not is told of once each, with the message
Events / message.email_bounced <- mail-bounces: the same report again and again makes one note, another reason one more
Events / inbound_message.filed <- event-types: mail that was filed is told of last, with its row of the ledger
Events / ticket.erased | message.erased <- event-types: an erasure tells of the tickets and of messages elsewhere that lost their texts, by ids only
Events / contact.updated for links of companies <- event-types: contacts that a company links or unlinks are told of
Delivery / event_id, X-Service-Event-Id <- webhook-delivery: a delivery is a signed POST of the event
Webhook / filter / null clears it <- webhook-filter: without a filter all comes, and null clears one
Webhook / filter / unknown ids and fields <- webhook-filter: %s is refused, in both requests, and changes nothing
Webhook / filter / before or after <- webhook-filter: a ticket that enters or leaves a filter is told of once, and then no more
Webhook / filter / company_ids, label_ids, mailbox_ids <- webhook-filter: labels, companies and mailboxes choose tickets
Webhook / filter / other events pass <- webhook-filter: contacts and companies are judged by company_ids, also one that leaves; labels pass
Webhook / filter / is_internal <- webhook-filter: is_internal chooses messages, and nothing else
Webhook / filter / queued deliveries stay <- webhook-filter: what is queued stays when the filter changes
Webhook / ordered / one at a time, in order <- webhook-order: deliveries go one at a time and in order, however many there are and whoever claims them
Webhook / ordered / next only after success <- webhook-order: what fails is tried alone until it succeeds, and other webhooks do not wait
Webhook / ordered / enabled again <- webhook-order: enabled again, it begins with the failed delivery on a new schedule; not without order
Webhook / ordered / retry and test out of turn <- webhook-order: a retry and a test go out of turn, and change nothing of the turns
POST /webhooks/:id/replay / only failed <- webhook-replay: by default what failed or was cancelled goes once more, with the same ids and bytes, and is audited
POST /webhooks/:id/replay / only all <- webhook-replay: all events of a time come as new deliveries, in their order, those of before the webhook too
POST /webhooks/:id/replay / events and filter <- webhook-replay: all is what the events and the filter choose, as it was at the change
POST /webhooks/:id/replay / not doubled <- webhook-replay: what waits is not doubled: of two replays at once one queues
POST /webhooks/:id/replay / since, until <- webhook-replay: since counts, until does not
POST /webhooks/:id/replay / 422 <- webhook-replay: %s is refused
POST /webhooks/:id/replay / above 10,000 <- webhook-replay: more than 10,000 are refused, and nothing is queued
POST /webhooks/:id/replay / WEBHOOK_DISABLED, rights <- webhook-replay: a webhook that is failed, inactive, or of others is not replayed, nor is one by an agent or a key that may not read
Webhook / failed / mail to admins, audit <- webhook-replay: a webhook that fails is in the audit log, and each active admin gets a letter, once a day
PATCH /organization / request / time_zone <- time-entries: logging > the day without a date is that of the zone of the organization
GET /time-entries/export / query / bom, delimiter, decimal <- time-entries: the export > has the form that the query asks for
GET /tickets/:ticket_id/transcript <- transcript: a transcript > tells who the ticket is of, and its public messages, oldest first
GET /tickets/:ticket_id/transcript / query / include_internal <- transcript: a transcript > tells who the ticket is of, and its public messages, oldest first
GET /tickets/:ticket_id/transcript / [quotation] <- transcript: a transcript > has the new part of a mail, and says where it repeats others
GET /tickets/:ticket_id/transcript / merged source <- transcript: a transcript > of a merged ticket names the target, which has the messages
GET /tickets/:ticket_id/transcript / 500 kB <- transcript: a transcript > keeps the newest messages within 500 kB, and says how many are left out
GET /tickets/:ticket_id/transcript / ETag <- transcript: a transcript > has a tag over all that is shown
GET /tickets/:ticket_id/transcript / permissions <- transcript: a transcript > is for those who may read tickets and messages, of their own organization
GET /tickets/:ticket_id/transcript / proven <- markdown: a message > is proven only by a sender that is, and what the team wrote is not judged
GET /tickets/:ticket_id/transcript / words and frame <- markdown: a message > has the same frame whatever people wrote, and their words can be read out of it
GET /tickets/:ticket_id/transcript / names, subjects, file names <- markdown: a name is one line of visible characters that JSON reads back
GET /tickets/:ticket_id/transcript / hostile tickets <- transcript: two hundred injections in bodies, subjects, names and names of files change nothing of the frame
/mcp / Bearer, ApiKey <- mcp: a program > says who it is in the header alone, with a token or a key
/mcp / never in the URL, 401 <- mcp: a program > without a good credential is 401, also with one in the address
/mcp / X-Organization-Id <- mcp: a program > acts in the organization of the header, as at the API
/mcp / Origin <- mcp: a program > of a page of another origin is 403, whatever the Host says
/mcp / GET, DELETE: 405; MCP=off <- mcp: a program > finds no session to look for or to end, and nothing with MCP=off
/mcp / revisions <- mcp: a message > of the revision %s begins with what it agrees on
/mcp / batches <- mcp: a batch > has up to 20 messages, in the revisions that have batches
/mcp / malformed messages <- mcp: a message > that cannot be read is an error of JSON-RPC
/mcp / unknown tools <- mcp: a message > that names what there is not is an error of JSON-RPC
/mcp / rate limit <- mcp: the limit > counts each message once, whatever it does, and shows so
/mcp / tools <- mcp-tools: the list > has every operation with JSON in and out, and nothing about credentials
/mcp / tools by rights <- mcp-tools: callers see exactly the tools that they may call
/mcp / tools for daily work, ?tools=all <- mcp-tools: the list > has about 25 for daily work without a wish for all
/mcp / schemas <- mcp-tools: the list > has schemas that stand by themselves, of JSON Schema 2020-12
/mcp / read-only, destructive <- mcp-tools: the list > marks what reads and what deletes
/mcp / drafts:write never sends <- mcp-tools: a program that drafts > sees no tool that sends or schedules, and no argument that does
/mcp / no argument sends <- mcp-tools: a program that drafts > has no way to send by the tools for tickets
/mcp / results <- mcp-tools: a call > answers the JSON of the API, as text and as an object
/mcp / arguments <- mcp-tools: a call > places arguments in path, query and body
/mcp / isError <- mcp-tools: a call > that is refused has the error of the API
/mcp / idempotency_key, if_match <- mcp-tools: a call > heeds keys of repeats and tags
/mcp / audit <- mcp-tools: a call > of a key is in the audit log as the request that it was, and so is its refusal
/mcp / guide://page <- mcp-tools: resources > are the pages of the guide, for every caller
/mcp / ticket://{ticket_id} <- mcp-tools: resources > have the conversation of a ticket without notes, for those who may read it
/mcp / the client of the SDK <- programs: the client of the SDK works in the mode %j
GET /llms.txt <- mcp-tools: the list of the guide links pages that are open to all
`
