/**
 * Rows of authentication, events, errors and limits: those of the interface only. What it does not have gets no row.
 */
export const RULES = `
Authentication / token / Access token <- auth: an access token > ends after its time, whether or not it was used before
Authentication / token / Refresh token <- auth: refreshing > tokens are kept as hashes for 7 days
POST /auth/login <- auth: signing in > gives an access token, a refresh token and the account
POST /auth/login / request / email | password <- auth: signing in > needs email and password as text: %j
POST /auth/login / response / access_token | refresh_token | token_type | expires_in | user | id | email | name <- auth: signing in > gives an access token, a refresh token and the account
POST /auth/refresh <- auth: refreshing > gives an access token and no new refresh token, as often as wanted
POST /auth/refresh / request / refresh_token <- auth: refreshing > with an unknown token, an access token or nothing is refused
POST /auth/refresh / response / access_token | token_type | expires_in <- auth: refreshing > gives an access token and no new refresh token, as often as wanted
GET /auth/me <- auth: the own account > lists the organizations with the role in each, oldest first
GET /auth/me / response / id | email | name | organizations | role <- auth: the own account > lists the organizations with the role in each, oldest first
POST /auth/logout <- auth: signing out > ends the refresh token and no other
POST /auth/logout / request / refresh_token <- auth: signing out > needs a refresh token in the body and an access token
Authentication errors / code / INVALID_CREDENTIALS <- auth: signing in > answers an unknown email like a wrong password
Authentication errors / code / TOKEN_EXPIRED <- auth: refreshing > with an expired token answers TOKEN_EXPIRED, also before and after the clean-up
Authentication errors / code / INVALID_TOKEN <- auth: an access token > is refused when it was not made here or says too little
Event names / event / ticket.created <- tickets: events > a new ticket with assignee and description is created, assigned and written to
Event names / event / ticket.updated <- tickets: events > one change of everything is one update, then the assignment, then the status
Event names / event / ticket.deleted <- tickets: events > deletion carries the last state
Event names / event / ticket.assigned | ticket.status_changed <- tickets: events > one change of everything is one update, then the assignment, then the status
Event names / event / message.created | message.deleted <- messages: messages and notes stand in the timeline and are told to webhooks as the API shows them
Event names / event / contact.created | contact.updated | contact.deleted <- contacts: events > tell of creation, change and deletion with the contact as it is returned
Event names / event / time_entry.created | time_entry.updated | time_entry.deleted <- time-entries: events and the timeline tell of every change, and of nothing else
Event names / event / test.ping <- webhooks: test > a test sends test.ping at once and answers its delivery
Delivery request / header / Content-Type | X-Service-Event | X-Service-Delivery | X-Service-Signature | X-Service-Timestamp <- webhook-delivery: a delivery is a signed POST of the event
Delivery request / body / event | timestamp | organization_id <- webhook-delivery: a delivery is a signed POST of the event
Delivery request / body / ticket.created | id | code | subject | status | priority | contact | name | email | created_at <- contract-rows: ticket.created reaches the receiver with the ticket as it is
Retry policy / attempt / 1 <- retry: retry schedule > after %i attempts the next one is due in %i seconds
Retry policy / attempt / 2 | 3 | 4 | 5 <- webhook-delivery: a failed attempt is repeated after 1 minute, 5 minutes, 30 minutes and 2 hours, same id and bytes
HTTP status codes / status / 200 | 201 <- labels: creating > a label is returned with every field
HTTP status codes / status / 204 <- labels: deleting > removes the label from its tickets, which do not change otherwise
HTTP status codes / status / 400 <- requests: a JSON body > cannot be %s
HTTP status codes / status / 401 <- tenancy: every route > without a token is 401, but to sign in and to refresh
HTTP status codes / status / 403 <- tenancy: every route > that only admins may call is 403 for an agent, and no other is
HTTP status codes / status / 404 <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
HTTP status codes / status / 422 <- requests: the faults of a request > are all told at once, in the order of the fields
HTTP status codes / status / 429 <- rate-limit: requests of a user > are counted down in headers and then refused
HTTP status codes / status / 500 <- requests: every answer > about a fault of ours tells the request id and nothing of the inside
Error codes / code / INVALID_CREDENTIALS <- auth: signing in > answers an unknown email like a wrong password
Error codes / code / TOKEN_EXPIRED <- auth: refreshing > with an expired token answers TOKEN_EXPIRED, also before and after the clean-up
Error codes / code / INVALID_TOKEN <- auth: an access token > is refused when it was not made here or says too little
Error codes / code / TICKET_NOT_FOUND <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
Error codes / code / CONTACT_NOT_FOUND <- tickets: creating > %j is refused with %s
Error codes / code / INVALID_STATUS <- ticket-status: status > %s never becomes %s, and nothing else of the request happens
Error codes / code / INVALID_PRIORITY <- tickets: creating > %j is refused with %s
Error codes / code / LABEL_NOT_FOUND <- tickets: creating > unknown labels are named in the details, each once
Error codes / code / COMPANY_NOT_FOUND <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
Error codes / code / EMAIL_ALREADY_EXISTS <- contacts: creating > an email is unique in its organization without regard to case
Error codes / code / INVALID_EMAIL <- contacts: creating > a wrong field is refused: %j
Error codes / code / INVALID_DOMAIN <- companies: creating > a wrong field is refused: %j
Error codes / code / MESSAGE_NOT_FOUND <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
Error codes / code / EMPTY_BODY <- messages: a body that is %s is EMPTY_BODY
Error codes / code / EMAIL_SEND_FAILED <- messages: when %s, a message is not sent, and asking for it is EMAIL_SEND_FAILED
Error codes / code / ATTACHMENT_NOT_FOUND <- messages: attachments that are unknown, used or of another organization are ATTACHMENT_NOT_FOUND, and nothing is stored
Error codes / code / LABEL_NAME_EXISTS <- labels: creating > a name is used once in the organization, without regard to case
Error codes / code / INVALID_COLOR <- labels: creating > is refused with %j
Error codes / code / WEBHOOK_NOT_FOUND <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
Error codes / code / INVALID_URL <- webhooks: creating > %s
Error codes / code / INVALID_EVENTS <- contract-rows: each event of the interface can be subscribed to, and no other
Error codes / code / WEBHOOK_DISABLED <- webhooks: test > a webhook that is switched off or failed cannot be tested
Error codes / code / TIME_ENTRY_NOT_FOUND <- tenancy: every route > with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told
Error codes / code / INVALID_DURATION <- time-entries: logging > a wrong field is refused: %j
Error codes / code / UNAUTHORIZED <- time-entries: updating > an agent changes only their own entries, an admin those of all
Limits / limit / per_page default | per_page maximum | page default <- requests: a query > pages through a list: 20 unless told, 100 at most
Limits / limit / rate limit <- rate-limit: requests of a user > are counted down in headers and then refused
Limits / limit / webhook receiver response time <- contract-rows: a receiver has 30 seconds unless told otherwise
Limits / limit / webhook delivery attempts <- webhook-delivery: a failed attempt is repeated after 1 minute, 5 minutes, 30 minutes and 2 hours, same id and bytes
Limits / limit / access token lifetime <- auth: signing in > gives an access token, a refresh token and the account
Limits / limit / refresh token lifetime <- auth: refreshing > tokens are kept as hashes for 7 days
Limits / header / X-RateLimit-Limit | X-RateLimit-Remaining | X-RateLimit-Reset <- rate-limit: requests of a user > are counted down in headers and then refused
`
