(* The statements are about something: finite spaces are spaces, and fair signs are independent in them. *)
From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From SDPA Require Import Sums Expectation Independence Scores.
Import ListNotations.
Local Open Scope R_scope.

(* n outcomes with probabilities p *)
Definition finite_space n (p : nat -> R) (Hp : forall i, (i < n)%nat -> 0 <= p i) (Hs : sum n p = 1) : space.
Proof.
  refine (Space nat (fun _ => True) (fun X => sum n (fun i => p i * X i)) _ _ _ _ _ _ _); auto.
  - transitivity (sum n p); [apply sum_ext; intros; ring|exact Hs].
  - intros. rewrite <- sum_plus. apply sum_ext; intros; ring.
  - intros. rewrite <- sum_scal. apply sum_ext; intros; ring.
  - intros. apply sum_nonneg; intros. apply Rmult_le_pos; auto.
Defined.

(* ---- N fair signs: the mean over both values of each, one after the other ---- *)
Definition put (w : nat -> R) i x := fun j => if Nat.eqb j i then x else w j.
Fixpoint mean N (f : (nat -> R) -> R) : R := match N with
  | O => f (fun _ => 0)
  | S N => (mean N (fun w => f (put w N 1)) + mean N (fun w => f (put w N (-1)))) / 2 end.
Lemma mean_plus N f g : mean N (fun w => f w + g w) = mean N f + mean N g.
Proof. revert f g; induction N; intros; simpl; [easy|]. rewrite !IHN. lra. Qed.
Lemma mean_scal N c f : mean N (fun w => c * f w) = c * mean N f.
Proof. revert f; induction N; intros; simpl; [easy|]. rewrite !IHN. lra. Qed.
Definition signs (N : nat) : space.
Proof.
  refine (Space (nat -> R) (fun _ => True) (mean N) _ _ _ _ _ _ _); auto using mean_plus, mean_scal.
  - induction N; simpl; [easy|]. rewrite IHN. lra.
  - induction N; intros X _ H; simpl; [easy|].
    pose proof (IHN (fun w => X (put w N 1)) I (fun w => H _)).
    pose proof (IHN (fun w => X (put w N (-1))) I (fun w => H _)). lra.
Defined.
Definition moment n := (1 ^ n + (-1) ^ n) / 2.

Lemma mean_of_powers N f : mean N (fun w => prod N (fun i => w i ^ f i)) = prod N (fun i => moment (f i)).
Proof.
  induction N; [easy|]. cbn [mean prod].
  assert (L : forall x, mean N (fun w => prod N (fun i => put w N x i ^ f i) * put w N x N ^ f N) =
    x ^ f N * prod N (fun i => moment (f i))).
  { intro x. rewrite <- IHN, <- mean_scal. f_equal. apply functional_extensionality; intro w.
    rewrite Rmult_comm. f_equal.
    - unfold put. now rewrite Nat.eqb_refl.
    - apply prod_ext; intros i Hi. unfold put. destruct (Nat.eqb_spec i N); [lia|easy]. }
  rewrite !L. unfold moment. field.
Qed.
Definition one_sign N (t : nat) : signs N -> R := fun w => w t.
Lemma moment_of_one N t n : (t < N)%nat -> E (fun w => one_sign N t w ^ n) = moment n.
Proof.
  intro Ht. pose proof (mean_of_powers N (fun i => if Nat.eqb i t then n else 0%nat)) as H.
  rewrite (prod_ext N (fun i => moment _) (fun i => if Nat.eqb i t then moment n else 1)), prod_single in H by
    (easy || (intros i _; destruct (Nat.eqb i t); unfold moment; simpl; lra)).
  rewrite <- H. apply (@E_ext (signs N)). intro w. rewrite <- (prod_single N t (one_sign N t w ^ n) Ht).
  apply prod_ext; intros i _. unfold one_sign. destruct (Nat.eqb_spec i t); subst; simpl; ring.
Qed.
(* Fair signs are independent up to every degree. *)
Theorem signs_independent D N : independent D (all1 N (one_sign N)).
Proof.
  intros e He _. split; [exact I|].
  assert (A : e = map (fun i => nth i e 0%nat) (seq 0 N)).
  { unfold all1 in He. rewrite map_length, seq_length in He. subst N. clear D.
    induction e as [|n e IH]; [easy|].
    simpl. rewrite <- seq_shift, map_map. now rewrite <- IH. }
  rewrite A, moments_all. rewrite (@E_ext (signs N) _ _ (monomial_all N (one_sign N) _)).
  etransitivity; [apply mean_of_powers|]. apply prod_ext; intros i Hi. now rewrite moment_of_one.
Qed.

(* ---- so no statement about independent queries and keys of mean 0 and variance 1 is empty ---- *)
Lemma all2_flat (P : space) d m (f : nat -> P -> R) s :
  all2 m d (fun a i => f (s + a * d + i)%nat) = map f (seq s (m * d)).
Proof.
  unfold all2. induction m; [easy|]. rewrite seq_S, flat_map_app, IHm. simpl.
  rewrite app_nil_r, (Nat.add_comm d), seq_app, map_app. f_equal.
  unfold all1. rewrite <- (map_map (fun i => s + m * d + i)%nat f). f_equal.
  clear. generalize (s + m * d)%nat. intro b. induction d; [easy|]. now rewrite !seq_S, map_app, IHd.
Qed.
(* For all sizes there are such queries and keys: signs. *)
Theorem not_empty d m n : exists (P : space) (q k : nat -> nat -> P -> R),
  independent 2 (all2 n d k ++ all2 m d q) /\
  (forall j i, (j < n)%nat -> (i < d)%nat -> E (k j i) = 0 /\ E (fun w => k j i w ^ 2) = 1) /\
  (forall a i, (a < m)%nat -> (i < d)%nat -> E (q a i) = 0 /\ E (fun w => q a i w ^ 2) = 1).
Proof.
  pose (N := (n * d + m * d)%nat). exists (signs N).
  exists (fun a i => one_sign N (n * d + a * d + i)), (fun j i => one_sign N (0 + j * d + i)).
  assert (M : forall t, (t < N)%nat -> E (one_sign N t) = 0 /\ E (fun w => one_sign N t w ^ 2) = 1).
  { intros t Ht. split; [|rewrite moment_of_one by easy; unfold moment; lra].
    rewrite (E_ext _ (fun w => one_sign N t w ^ 1)), moment_of_one by (easy || (intro; ring)).
    unfold moment; lra. }
  split; [|split; intros; apply M; unfold N; nia].
  rewrite !all2_flat, <- map_app, <- seq_app. apply signs_independent.
Qed.
