"""Known fields of exports that are not read, by format and record. Pure.

Other unread fields are counted as unknown, so that an import shows what it leaves out.
"""

from typing import Final

IGNORED_FIELDS: Final[dict[str, dict[str, str]]] = {
    "chatgpt": {
        "conversation": """
            async_status atlas_mode_enabled blocked_urls context_scopes conversation_origin
            conversation_template_id default_model_slug disabled_tool_ids gizmo_id gizmo_type
            is_archived is_do_not_remember is_read_only is_starred is_study_mode memory_scope
            moderation_results owner pinned_time plugin_ids safe_urls sugar_item_id
            sugar_item_visible update_time voice
        """,
        "node": "id children",
    },
    "chatgpt_content": {
        "author": "name metadata",
        "message": "update_time status end_turn channel",
    },
    "claude": {
        "conversation": """
            created_at updated_at summary model settings is_starred project project_uuid
            is_temporary platform
        """,
        "message": """
            updated_at index truncated stop_reason files_v2 sync_sources
            input_mode
        """,
        "user": "email_address verified_phone_number verified_at",
    },
    "claude_code": {
        "line": """
            agentId entrypoint forkedFrom gitBranch imagePasteIds isVisibleInTranscriptOnly
            logicalParentUuid origin permissionMode promptId requestId slug
            sourceToolAssistantUUID sourceToolUseID thinkingMetadata todos toolUseResult userType
            version error apiError
        """,
    },
    "discord": {
        "author": "discriminator color roles avatarUrl",
        "message": """
            timestampEdited callEndedTimestamp isPinned embeds stickers reactions reference
            interaction inlineEmojis forwardedMessage poll
        """,
        "export": "dateRange exportedAt messageCount",
    },
    "gemini": {
        "activity": "activityControls audioFiles description imageFile subtitles titleUrl",
    },
    "hindsight": {
        "memory": """
            bank_id chunk_id consolidated_at created_at document_id event_date fact_type_source
            proof_count scores source_fact_ids stale updated_at edited_at
        """,
    },
    "langmem": {
        "item": "score updated_at",
    },
    "letta": {
        "block": """
            base_template_id created_by_id deployment_id description entity_id hidden id
            is_template last_updated_by_id limit metadata metadata_ name preserve_on_migration
            project_id read_only tags template_id template_name updated_at
        """,
        "message": """
            id type agent_id model name tool_call_id tool_returns otid sender_id batch_item_id
            is_err approve group_id denial_reason approval_request_id approvals step_id
            organization_id
        """,
        "passage": """
            archive_id created_by_id embedding embedding_config file_id file_name
            last_updated_by_id organization_id source_id updated_at agent_id
        """,
    },
    "librechat": {
        "conversation": "branches endpoint exportAt options recursive",
        "message": """
            _id __v attachments conversationId createdAt depth endpoint expiredAt feedback
            finish_reason iconURL isEdited lastSelectedModel metadata model plugin plugins
            searchResult siblingIndex thread_id tokenCount unfinished updatedAt user addedConvo
        """,
    },
    "matrix": {
        "room": "room_creator topic export_date",
        "event": """
            age unsigned user_id prev_content redacts replaces_state auth_events prev_events depth
            hashes signatures origin
        """,
    },
    "mcp_memory": {
        "entity": "type",
        "relation": "type",
    },
    "mem0": {
        "memory": """
            hash score updated_at actor_id role app_id owner organization project_id immutable
            expiration_date internal_metadata deleted_at name structured_attributes
        """,
    },
    "messenger": {
        "chat": """
            is_still_participant thread_path thread_type magic_words image joinable_mode
            admins
        """,
        "message": """
            reactions ip is_geoblocked_for_viewer is_taken_down users missed
            is_unsent_image_by_messenger_kid_parent bumped_message_metadata
        """,
    },
    "open_webui": {
        "export": """
            archived created_at folder_id meta pinned share_id summary tasks updated_at
            current_message_id last_read_at
        """,
        "chat": "files id messages models params system tags timestamp title features",
        "message": """
            annotation childrenIds code_executions done embeds error favorite followUps info
            lastSentence merged modelIdx models originalContent output selectedModelId sources
            statusHistory usage user userContext
        """,
    },
    "sillytavern": {
        "message": """
            force_avatar gen_finished gen_started index is_group is_name is_system original_avatar
            swipe_id swipe_info swipes title tool_calls variables
        """,
    },
    "signal": {
        "message": "quote reactions missed",
    },
    "signal_frames": {
        "item": """
            expireStartDate expiresInMs sms incoming outgoing updateMessage paymentNotification
            giftBadge viewOnceMessage pinDetails
        """,
    },
    "slack": {
        "message": """
            app_id bot_profile client_msg_id display_as_bot edited hidden
            icons inviter is_locked is_starred last_read latest_reply old_name parent_user_id
            permalink pinned_info pinned_to purpose reactions replies reply_count reply_users
            reply_users_count root saved source_team subscribed team topic upload user_profile
            user_team x_files metadata assistant_app_thread
        """,
    },
    "statements": {
        "project": """
            is_private updated_at creator archived_at is_starred type subtype archiver settings
        """,
    },
    "telegram": {
        "message": """
            action actor actor_id author duration_seconds edited edited_unixtime forwarded_from
            forwarded_from_id file_size height inline_bot_buttons mime_type photo_file_size
            reactions reply_to_message_id reply_to_peer_id saved_from text_entities thumbnail
            thumbnail_file_size via_bot width self_destruct_period_seconds media_spoiler title
            performer signature
        """,
    },
    "zep": {
        "edge": """
            episodes episode_uuids fact_embedding graph_uuid group_id hyperedge_uuid reference_time
            relevance scope score source_node_labels target_node_labels target_node_name
            target_node_uuid
        """,
        "node": """
            attributes created_at episodes graph_uuid group_id labels name_embedding relevance
            score
        """,
    },
}
