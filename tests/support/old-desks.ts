/** The remains of other desks, in their own forms: JSON of an API, dumps of a database. Small, with traps. */
import fs from 'node:fs'
import path from 'node:path'

/** Files by their names. */
type Files = Record<string, string | Uint8Array>

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content)
  }
}

const lines = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const AT = '2020-02-03T04:05:06Z'

export const ZENDESK: Files = {
  'organizations.json': JSON.stringify({
    organizations: [{ id: 1, name: 'Umbrella', domain_names: ['umbrella.example'] }],
  }),
  'users.json': lines(
    { id: 10, name: 'Carla', email: 'carla@umbrella.example', role: 'end-user', organization_id: 1, created_at: AT },
    { id: 11, name: 'Alan', email: 'alan@desk.example', role: 'agent' },
    { id: 12, name: 'No mail', email: null, role: 'end-user' },
  ),
  'tickets-1.json': JSON.stringify({
    tickets: [
      {
        ...{ id: 100, subject: 'Printer', status: 'hold', priority: null, requester_id: 10, assignee_id: 11 },
        ...{ organization_id: 1, tags: ['Billing', 'vip'], collaborator_ids: [10, 99], created_at: AT, updated_at: AT },
        custom_fields: [{ id: 5, value: 'gold' }],
      },
      { id: 101, subject: '', status: 'solved', priority: 'urgent', requester_id: 12 },
      { id: 102, subject: 'Gone', status: 'deleted', requester_id: 10 },
    ],
    next_page: null,
  }),
  'tickets/100/comments.json': JSON.stringify({
    comments: [
      {
        ...{
          id: 1000,
          author_id: 10,
          html_body: '<p>It burns</p>',
          plain_body: 'It burns',
          public: true,
          created_at: AT,
        },
        attachments: [
          { id: 7, file_name: 'fire.txt', content_type: 'text/plain', content_url: 'https://x.example/7' },
          { id: 8, file_name: 'lost.txt' },
        ],
      },
      { id: 1001, author_id: 11, body: 'Water', public: true, created_at: AT },
      { id: 1002, author_id: 11, body: 'A note', public: false, created_at: AT },
      { id: 1003, author_id: 99, body: 'Deleted author in copy', public: true, created_at: AT },
      { id: 1004, author_id: 98, body: 'Deleted agent', public: true, created_at: AT },
    ],
  }),
  'attachments/7/fire.txt': 'fire',
}

export const FRESHDESK: Files = {
  'companies.json': JSON.stringify([{ id: 1, name: 'Umbrella', domains: ['umbrella.example'], description: 'Big' }]),
  'agents.json': JSON.stringify([{ id: 11, contact: { name: 'Alan', email: 'alan@desk.example' } }]),
  'contacts.json': JSON.stringify([
    {
      id: 10,
      name: 'Carla',
      email: 'carla@umbrella.example',
      other_emails: ['c@home.example'],
      company_id: 1,
      mobile: '1',
    },
  ]),
  'tickets.json': JSON.stringify([
    {
      ...{ id: 100, subject: 'Printer', status: 9, priority: 4, requester_id: 10, responder_id: 11, company_id: 1 },
      ...{
        description: '<p>It burns</p>',
        description_text: 'It burns',
        tags: ['vip'],
        cc_emails: ['Bo <bo@x.example>'],
      },
      ...{ created_at: AT, updated_at: AT, custom_fields: { 'cf_Tier level': 'gold' } },
    },
    { id: 101, subject: 'Done', status: 5, priority: 1, requester_id: 10, created_at: AT },
  ]),
  'conversations/100.json': JSON.stringify([
    { id: 1000, body: '<p>Water</p>', incoming: false, private: false, user_id: 11, created_at: AT },
    { id: 1001, body: '<p>Note</p>', incoming: false, private: true, user_id: 11, created_at: AT },
    { id: 1002, body: 'Thanks', incoming: true, private: false, user_id: 10, created_at: AT },
  ]),
  'time_entries.json': JSON.stringify([
    {
      id: 1,
      ticket_id: 100,
      agent_id: 11,
      time_spent: '01:30',
      billable: true,
      note: 'Fixed',
      executed_at: AT,
      created_at: AT,
    },
    { id: 2, ticket_id: 100, agent_id: 11, time_spent: '00:00' },
  ]),
}

/** As mysqldump writes it: columns stand in CREATE TABLE alone, and rows in one line. */
export const FREESCOUT: Files = {
  'dump.sql': String.raw`-- MySQL dump 10.13  Distrib 8.0.35; it's quoted
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS ${'`attachments`'};
CREATE TABLE ${'`attachments`'} (
  ${'`id`'} int unsigned NOT NULL AUTO_INCREMENT,
  ${'`thread_id`'} int DEFAULT NULL,
  ${'`file_dir`'} varchar(20) DEFAULT NULL COMMENT 'a;b',
  ${'`file_name`'} varchar(255) NOT NULL,
  ${'`mime_type`'} varchar(127) NOT NULL,
  ${'`embedded`'} tinyint(1) NOT NULL DEFAULT '0',
  PRIMARY KEY (${'`id`'})
) ENGINE=InnoDB;
LOCK TABLES ${'`attachments`'} WRITE;
INSERT INTO ${'`attachments`'} VALUES (1,1000,'1/2/3/','fire.txt','text/plain',0),(2,1001,'../../','passwd','text/plain',0);
UNLOCK TABLES;
INSERT INTO ${'`conversations`'} (${'`id`,`number`,`subject`,`status`,`state`,`user_id`,`customer_id`,`cc`,`bcc`,`created_at`,`updated_at`'}) VALUES (100,77,'Printer isn\'t \"fine\"\n; ''really''',1,2,11,10,'[\"bo@x.example\"]',NULL,'2020-02-03 04:05:06','2020-02-03 04:05:07'),(101,78,'Spam',4,2,NULL,10,NULL,NULL,'2020-02-03 04:05:06',NULL),(102,79,'Draft',1,1,NULL,10,NULL,NULL,'2020-02-03 04:05:06',NULL);
INSERT INTO ${'`customers`'} (${'`id`,`first_name`,`last_name`,`phones`'}) VALUES (10,'Carla','Zoe','[{\"value\":\"123\",\"type\":1}]');
INSERT INTO ${'`emails`'} (${'`id`,`customer_id`,`email`'}) VALUES (1,10,'carla@umbrella.example'),(2,10,'c@home.example');
INSERT INTO ${'`threads`'} (${'`id`,`conversation_id`,`type`,`state`,`body`,`cc`,`customer_id`,`created_by_user_id`,`created_by_customer_id`,`message_id`,`headers`,`created_at`'}) VALUES (1000,100,1,2,'<p>It burns</p>',NULL,10,NULL,10,'first@umbrella.example',NULL,'2020-02-03 04:05:06'),(1001,100,2,2,'<p>Water, zebra</p>','[\"bo@x.example\"]',10,11,NULL,'answer@old.example','References: <first@umbrella.example>\r\n <other@x.example>\r\nTo: x','2020-02-03 04:05:07'),(1002,100,3,2,'A note',NULL,NULL,11,NULL,NULL,NULL,'2020-02-03 04:05:08'),(1003,100,4,2,'',NULL,NULL,11,NULL,NULL,NULL,'2020-02-03 04:05:08'),(1004,100,2,1,'Draft',NULL,10,11,NULL,NULL,NULL,'2020-02-03 04:05:08');
INSERT INTO ${'`users`'} (${'`id`,`first_name`,`last_name`,`email`,`role`'}) VALUES (11,'Alan','Agent','alan@desk.example',2);
`,
  'attachment/1/2/3/fire.txt': 'fire',
}

/** Files are in the database, in pieces with whatever bytes. */
export const OSTICKET: Files = {
  'dump.sql': Buffer.concat([
    Buffer.from(`INSERT INTO \`ost_user\` (\`id\`,\`org_id\`,\`name\`,\`created\`) VALUES (10,0,'Carla','2020-02-03 05:05:06');
INSERT INTO \`ost_user_email\` (\`id\`,\`user_id\`,\`address\`) VALUES (1,10,'carla@umbrella.example'),(2,10,'c@home.example');
INSERT INTO \`ost_staff\` (\`staff_id\`,\`firstname\`,\`lastname\`,\`email\`,\`isadmin\`) VALUES (11,'Alan','Agent','alan@desk.example',1);
INSERT INTO \`ost_ticket_status\` (\`id\`,\`name\`,\`state\`) VALUES (1,'Open','open'),(3,'Closed','closed'),(5,'Deleted','deleted');
INSERT INTO \`ost_ticket__cdata\` (\`ticket_id\`,\`subject\`,\`priority\`) VALUES (100,'Printer','3');
INSERT INTO \`ost_ticket\` (\`ticket_id\`,\`number\`,\`user_id\`,\`status_id\`,\`staff_id\`,\`created\`,\`updated\`) VALUES (100,'004711',10,3,11,'2020-02-03 05:05:06','2020-07-03 06:05:06'),(101,'004712',10,5,0,'2020-02-03 05:05:06',NULL),(102,'004713',0,1,0,'2020-02-03 05:05:06','0000-00-00 00:00:00');
INSERT INTO \`ost_thread\` (\`id\`,\`object_id\`,\`object_type\`) VALUES (50,100,'T'),(51,9,'A');
INSERT INTO \`ost_thread_entry\` (\`id\`,\`thread_id\`,\`staff_id\`,\`user_id\`,\`type\`,\`poster\`,\`body\`,\`format\`,\`created\`) VALUES (1000,50,0,10,'M','Carla','<p>It burns</p>','html','2020-02-03 05:05:06'),(1001,50,11,0,'R','Alan Agent','Water < fire','text','2020-02-03 05:05:07'),(1002,50,11,0,'N','Alan Agent','Note','text','2020-02-03 05:05:08'),(1003,51,11,0,'N','Alan','Task','text','2020-02-03 05:05:08');
INSERT INTO \`ost_thread_entry_email\` (\`id\`,\`thread_entry_id\`,\`mid\`,\`headers\`) VALUES (1,1000,'<first@umbrella.example>',NULL);
INSERT INTO \`ost_thread_collaborator\` (\`id\`,\`thread_id\`,\`user_id\`) VALUES (1,50,10);
INSERT INTO \`ost_file\` (\`id\`,\`type\`,\`name\`) VALUES (7,'application/octet-stream','bytes.bin');
INSERT INTO \`ost_attachment\` (\`id\`,\`object_id\`,\`type\`,\`file_id\`,\`inline\`) VALUES (1,1000,'H',7,0);
INSERT INTO \`ost_file_chunk\` (\`file_id\`,\`chunk_id\`,\`filedata\`) VALUES (7,0,_binary '`),
    Buffer.from([0xff, 0x5c, 0x30, 0x5c, 0x27, 0x0a, 0x80]),
    Buffer.from(`'),(7,1,0x414243);\n`),
  ]),
}

export const ZAMMAD: Files = {
  'dump.sql': String.raw`--
-- PostgreSQL database dump
--
CREATE TABLE public.tickets (
    id integer NOT NULL
);
COPY public.organizations (id, name, domain, note) FROM stdin;
1	Umbrella	umbrella.example	\N
\.
COPY public.roles (id, name) FROM stdin;
1	Admin
2	Agent
3	Customer
\.
COPY public.roles_users (user_id, role_id) FROM stdin;
10	3
11	1
\.
COPY public.store_files (id, sha, provider) FROM stdin;
5	aaaabbbbbccccccc0000000000000001	DB
\.
COPY public.store_objects (id, name) FROM stdin;
1	Ticket::Article
\.
COPY public.store_provider_dbs (id, sha, data) FROM stdin;
1	aaaabbbbbccccccc0000000000000001	\\x66697265
\.
COPY public.stores (id, store_object_id, store_file_id, o_id, preferences, size, filename) FROM stdin;
1	1	5	1000	---\nContent-Type: text/plain\n	4	fire.txt
\.
COPY public.tag_items (id, name) FROM stdin;
1	vip
\.
COPY public.tag_objects (id, name) FROM stdin;
1	Ticket
\.
COPY public.tags (id, tag_item_id, tag_object_id, o_id) FROM stdin;
1	1	1	100
\.
COPY public.ticket_article_senders (id, name) FROM stdin;
1	Agent
2	Customer
\.
COPY public.ticket_articles (id, ticket_id, sender_id, "from", "to", cc, message_id, in_reply_to, "references", content_type, body, internal, created_by_id, origin_by_id, created_at) FROM stdin;
1000	100	2	Carla <carla@umbrella.example>	desk	\N	<first@umbrella.example>	\N	\N	text/html	<p>It\tburns\\now</p>	f	10	\N	2020-02-03 04:05:06.123
1001	100	1	Alan via Desk <alan@desk.example>	carla	\N	<answer@old.example>	<first@umbrella.example>	<first@umbrella.example>	text/plain	Water	f	11	\N	2020-02-03 04:05:07
1002	100	1	\N	\N	\N	\N	\N	\N	text/plain	Note	t	11	\N	2020-02-03 04:05:08
1003	101	2	\N	\N	\N	\N	\N	\N	text/plain	Merged	f	10	\N	2020-02-03 04:05:08
\.
COPY public.ticket_priorities (id, name) FROM stdin;
3	3 high
\.
COPY public.ticket_state_types (id, name) FROM stdin;
3	pending reminder
6	merged
\.
COPY public.ticket_states (id, name, state_type_id) FROM stdin;
3	Waiting for parts	3
5	merged	6
\.
COPY public.ticket_time_accountings (id, ticket_id, ticket_article_id, time_unit, created_by_id, created_at) FROM stdin;
1	100	1001	14.5	11	2020-02-03 04:05:09
\.
COPY public.tickets (id, organization_id, number, title, state_id, priority_id, owner_id, customer_id, created_at, updated_at) FROM stdin;
100	1	20001	Printer	3	3	1	10	2020-02-03 04:05:06	2020-02-03 04:05:07
101	1	20002	Twin	5	3	11	10	2020-02-03 04:05:06	2020-02-03 04:05:07
\.
COPY public.users (id, organization_id, firstname, lastname, email, phone, note, active) FROM stdin;
1	\N	-		\N	\N	\N	f
10	1	Carla	Zoe	carla@umbrella.example	123	\N	t
11	\N	Alan	Agent	alan@desk.example	\N	\N	t
\.
`,
}
