(* Mean and variance of a score, the dot product of two independent vectors. *)
From Coq Require Import Reals Lra Lia List.
From SDPA Require Import Sums Expectation Independence.
Local Open Scope R_scope.

Section Scores.
Context {P : space}.
Implicit Types (x y : nat -> P -> R).

Definition dot (d : nat) x y : P -> R := fun w => sum d (fun i => x i w * y i w).

(* ---- vectors of which all means, second moments and products exist ---- *)
Definition vector d (L : list (P -> R)) x := forall i g, (i < d)%nat -> (g < d)%nat ->
  polynomial 2 L (x i) /\ polynomial 2 L (fun w => x i w * x g w).

Lemma vector_row d x : vector d (all1 d x) x.
Proof.
  intros i g Hi Hg. split.
  - apply (of_equal _ _ (fun w => x i w ^ 1)); [intro; ring|]. apply power_polynomial; auto.
  - destruct (Nat.eq_dec i g) as [<-|h].
    + apply (of_equal _ _ (fun w => x i w ^ 2)); [intro; ring|]. apply power_polynomial; auto.
    + apply (of_equal _ _ (fun w => x i w ^ 1 * x g w ^ 1)); [intro; ring|]. apply powers; auto.
Qed.

(* The mean of x'y is the sum of the products of means; its variance is the sum of E x_i x_g E y_i y_g less
   the products of means, over all pairs: components of one vector may depend on each other. *)
Section Bilinear.
Variables (d : nat) (L M : list (P -> R)) (x y : nat -> P -> R).
Hypotheses (H : independent 2 (L ++ M)) (Hx : vector d L x) (Hy : vector d M y).

(* The mean of a score is the sum of the products of means. *)
Theorem mean_of_dot : integrable (dot d x y) /\ E (dot d x y) = sum d (fun i => E (x i) * E (y i)).
Proof.
  assert (A : forall i, (i < d)%nat -> integrable (fun w => x i w * y i w) /\
    E (fun w => x i w * y i w) = E (x i) * E (y i)).
  { intros i Hi. apply (product_of_parts 2 L M); auto; [now apply (Hx i i)|now apply (Hy i i)]. }
  split; [apply integrable_sum; intros; now apply A|].
  unfold dot. rewrite E_sum by (intros; now apply A). apply sum_ext; intros; now apply A.
Qed.
(* The mean product of the scores of one query with two keys. *)
Theorem mean_of_product (z : nat -> P -> R) :
  (forall i g, (i < d)%nat -> (g < d)%nat -> polynomial 2 M (fun w => y i w * z g w)) ->
  integrable (fun w => dot d x y w * dot d x z w) /\ E (fun w => dot d x y w * dot d x z w) =
  sum d (fun i => sum d (fun g => E (fun w => x i w * x g w) * E (fun w => y i w * z g w))).
Proof.
  intro Hz.
  assert (A : forall i g, (i < d)%nat -> (g < d)%nat ->
    integrable (fun w => (x i w * x g w) * (y i w * z g w)) /\
    E (fun w => (x i w * x g w) * (y i w * z g w)) = E (fun w => x i w * x g w) * E (fun w => y i w * z g w)).
  { intros i g Hi Hg. apply (product_of_parts 2 L M); auto. now apply Hx. }
  assert (B : forall w, sum d (fun i => sum d (fun g => (x i w * x g w) * (y i w * z g w))) =
    dot d x y w * dot d x z w).
  { intro w. unfold dot. rewrite sum_mult. apply sum_ext; intros i _. apply sum_ext; intros g _. ring. }
  split.
  - apply (integrable_ext _ _ B). apply integrable_sum; intros i Hi. apply integrable_sum; intros.
    now apply A.
  - rewrite <- (E_ext _ _ B), E_sum.
    + apply sum_ext; intros i Hi. rewrite E_sum by (intros; now apply A). apply sum_ext; intros. now apply A.
    + intros i Hi. apply integrable_sum; intros. now apply A.
Qed.
(* The mean square of a score. *)
Theorem square_of_dot : integrable (fun w => dot d x y w ^ 2) /\ E (fun w => dot d x y w ^ 2) =
  sum d (fun i => sum d (fun g => E (fun w => x i w * x g w) * E (fun w => y i w * y g w))).
Proof.
  destruct (mean_of_product y) as [i e]; [intros; now apply Hy|].
  assert (A : forall w, dot d x y w * dot d x y w = dot d x y w ^ 2) by (intro; ring).
  split; [now apply (integrable_ext _ _ A)|now rewrite <- (E_ext _ _ A)].
Qed.
(* The variance of a score. *)
Theorem variance_of_dot : Var (dot d x y) = sum d (fun i => sum d (fun g =>
  E (fun w => x i w * x g w) * E (fun w => y i w * y g w) - E (x i) * E (y i) * (E (x g) * E (y g)))).
Proof.
  destruct mean_of_dot as [i1 e1], square_of_dot as [i2 e2].
  rewrite Var_E, e1, e2 by easy. simpl. rewrite Rmult_1_r, sum_mult, <- sum_minus.
  apply sum_ext; intros. now rewrite sum_minus.
Qed.
(* any multiple of it, however it is written *)
Theorem multiple_of_dot c X : (forall w, X w = c * dot d x y w) ->
  E X = c * E (dot d x y) /\ Var X = c ^ 2 * Var (dot d x y).
Proof.
  intro h. destruct mean_of_dot as [i1 _], square_of_dot as [i2 _]. split.
  - now rewrite (E_ext X _ h), E_scal.
  - now rewrite (Var_ext X _ h), Var_scal.
Qed.
End Bilinear.

(* ---- independent components that are alike: moments of a row ---- *)
Definition alike d x m s := forall i, (i < d)%nat -> E (x i) = m /\ E (fun w => x i w ^ 2) = s.

Lemma second_moments d x m s i g : independent 2 (all1 d x) -> alike d x m s -> (i < d)%nat -> (g < d)%nat ->
  E (fun w => x i w * x g w) = if Nat.eqb g i then s else m ^ 2.
Proof.
  intros H A Hi Hg. destruct (Nat.eqb_spec g i) as [->|h].
  - rewrite (E_ext _ (fun w => x i w ^ 2)) by (intro; ring). now apply A.
  - rewrite (E_ext _ (fun w => x i w ^ 1 * x g w ^ 1)) by (intro; ring).
    rewrite (proj2 (powers 2 d x i g 1 1 ltac:(auto) ltac:(auto) ltac:(auto) ltac:(auto) ltac:(auto)) H).
    assert (F : forall X : P -> R, E (fun w => X w ^ 1) = E X) by (intro; apply E_ext; intro; ring).
    rewrite !F. destruct (A i Hi) as [-> _], (A g Hg) as [-> _]. ring.
Qed.
Section Alike.
Variables (d : nat) (x y : nat -> P -> R) (mx sx my sy : R).
Hypotheses (H : independent 2 (all1 d x ++ all1 d y)) (Ax : alike d x mx sx) (Ay : alike d y my sy).
Let Hx : independent 2 (all1 d x). Proof. exact (independent_part _ _ _ H). Qed.
Let Hy : independent 2 (all1 d y). Proof. exact (independent_rest _ _ _ H). Qed.

(* Components that are alike: the mean is d times the product of their means ... *)
Theorem mean_of_score : E (dot d x y) = INR d * (mx * my).
Proof.
  rewrite (proj2 (mean_of_dot d _ _ x y H (vector_row d x) (vector_row d y))).
  rewrite (sum_ext d _ (fun _ => mx * my)), sum_const; [easy|].
  intros i Hi. now destruct (Ax i Hi) as [-> _], (Ay i Hi) as [-> _].
Qed.
(* ... the variance d times that of one product ... *)
Theorem variance_of_score : Var (dot d x y) = INR d * (sx * sy - mx ^ 2 * my ^ 2).
Proof.
  rewrite (variance_of_dot d _ _ x y H (vector_row d x) (vector_row d y)).
  rewrite (sum_pairs d (sx * sy - mx ^ 2 * my ^ 2) 0); [ring| |].
  - intros i Hi. rewrite (second_moments d x mx sx), (second_moments d y my sy), Nat.eqb_refl by auto.
    destruct (Ax i Hi) as [-> _], (Ay i Hi) as [-> _]. ring.
  - intros i g Hi Hg h. rewrite (second_moments d x mx sx), (second_moments d y my sy) by auto.
    destruct (Nat.eqb_spec g i); [easy|].
    destruct (Ax i Hi) as [-> _], (Ay i Hi) as [-> _], (Ax g Hg) as [-> _], (Ay g Hg) as [-> _]. ring.
Qed.
(* ... which is the product of the second moments less that of the squared means. *)
Theorem variance_of_one_product i : (i < d)%nat ->
  Var (fun w => x i w * y i w) = sx * sy - mx ^ 2 * my ^ 2.
Proof.
  intro Hi.
  assert (px : forall a, (a <= 2)%nat -> polynomial 2 (all1 d x) (fun w => x i w ^ a))
    by (intros; now apply power_polynomial).
  assert (py : forall a, (a <= 2)%nat -> polynomial 2 (all1 d y) (fun w => y i w ^ a))
    by (intros; now apply power_polynomial).
  destruct (product_of_parts 2 _ _ _ _ H (px 1%nat ltac:(lia)) (py 1%nat ltac:(lia))) as [i1 e1].
  destruct (product_of_parts 2 _ _ _ _ H (px 2%nat ltac:(lia)) (py 2%nat ltac:(lia))) as [i2 e2].
  assert (F : forall X : P -> R, E (fun w => X w ^ 1) = E X) by (intro; apply E_ext; intro; ring).
  assert (A1 : forall w, x i w ^ 1 * y i w ^ 1 = x i w * y i w) by (intro; ring).
  assert (A2 : forall w, x i w ^ 2 * y i w ^ 2 = (x i w * y i w) ^ 2) by (intro; ring).
  rewrite Var_E by (now apply (integrable_ext _ _ A1) || now apply (integrable_ext _ _ A2)).
  rewrite <- (E_ext _ _ A1), <- (E_ext _ _ A2), e1, e2, !F.
  destruct (Ax i Hi) as [-> ->], (Ay i Hi) as [-> ->]. ring.
Qed.
End Alike.

(* ---- the score of any query a and any key j, of arrays whose components are all independent ---- *)
Section Arrays.
Variables (d m n : nat) (q k : nat -> nat -> P -> R) (mq sq mk sk : R) (a j : nat).
Hypotheses (Ha : (a < m)%nat) (Hj : (j < n)%nat) (H : independent 2 (all2 n d k ++ all2 m d q)).
Hypothesis Ak : forall j i, (j < n)%nat -> (i < d)%nat -> E (k j i) = mk /\ E (fun w => k j i w ^ 2) = sk.
Hypothesis Aq : forall a i, (a < m)%nat -> (i < d)%nat -> E (q a i) = mq /\ E (fun w => q a i w ^ 2) = sq.

Lemma one_query_one_key : independent 2 (all1 d (q a) ++ all1 d (k j)).
Proof.
  apply (independent_permuted _ (all1 d (k j) ++ all1 d (q a))); [apply Permutation.Permutation_app_comm|].
  revert H. apply independent_contained, contains_app; now apply contains_row.
Qed.
Lemma query_alike : alike d (q a) mq sq. Proof. intros i Hi. now apply Aq. Qed.
Lemma key_alike : alike d (k j) mk sk. Proof. intros i Hi. now apply Ak. Qed.

(* The same of c times the score of query a and key j ... *)
Theorem scores c X : (forall w, X w = c * dot d (q a) (k j) w) ->
  E X = c * (INR d * (mq * mk)) /\ Var X = c ^ 2 * (INR d * (sq * sk - mq ^ 2 * mk ^ 2)).
Proof.
  intro h.
  destruct (multiple_of_dot d _ _ _ _ one_query_one_key (vector_row d _) (vector_row d _) c X h) as [-> ->].
  rewrite (mean_of_score d _ _ _ _ _ _ one_query_one_key query_alike key_alike).
  now rewrite (variance_of_score d _ _ _ _ _ _ one_query_one_key query_alike key_alike).
Qed.
(* ... and of one of its products. *)
Theorem products i X : (i < d)%nat -> (forall w, X w = q a i w * k j i w) ->
  Var X = sq * sk - mq ^ 2 * mk ^ 2.
Proof.
  intros Hi h. rewrite (Var_ext X _ h).
  apply (variance_of_one_product d _ _ _ _ _ _ one_query_one_key query_alike key_alike); easy.
Qed.
End Arrays.
End Scores.

(* Rewrites the mean or variance of c times a score, in a goal with the hypotheses of a printed statement. *)
Ltac of_scores c := match goal with
  | Ha : (?a < ?m)%nat, Hj : (?j < ?n)%nat, H : independent 2 (all2 ?n ?d ?k ++ all2 ?m ?d ?q),
    Ak : context [?k _ _] , Aq : context [?q _ _] |- context [?M (fun w => @?X w)] =>
    let h := constr:(scores d m n q k _ _ _ _ a j Ha Hj H Ak Aq c X ltac:(intro; unfold Rdiv; ring)) in
    match M with E => rewrite (proj1 h) | Var => rewrite (proj2 h) end end.

(* ... or the variance of one product. *)
Ltac of_product i := match goal with
  | Ha : (?a < ?m)%nat, Hj : (?j < ?n)%nat, Hi : (i < ?d)%nat, H :
    independent 2 (all2 ?n ?d ?k ++ all2 ?m ?d ?q),
    Ak : context [?k _ _] , Aq : context [?q _ _] |- context [Var (fun w => @?X w)] =>
    rewrite (products d m n q k _ _ _ _ a j Ha Hj H Ak Aq i X Hi ltac:(intro; cbv beta; ring)) end.

(* What is left after that: fractions with the square root of d, powers of d, equations with a factor. *)
Lemma root_of_size d : (0 < d)%nat -> 0 < sqrt (INR d) /\ INR d = sqrt (INR d) * sqrt (INR d).
Proof.
  intro H. pose proof (lt_0_INR d H). split; [now apply sqrt_lt_R0|]. symmetry. apply sqrt_sqrt. lra.
Qed.
Ltac roots d := match goal with H : (0 < d)%nat |- _ =>
  let S := fresh in let Q := fresh in let r := fresh in destruct (root_of_size d H) as [S Q];
  set (r := sqrt (INR d)) in *; rewrite ?Q; field; lra end.
Lemma roots_of_one c d : (0 < d)%nat ->
  c ^ 2 * INR d = 1 <-> (c - 1 / sqrt (INR d)) * (c + 1 / sqrt (INR d)) = 0.
Proof.
  intro H. destruct (root_of_size d H) as [S Q]. set (s := sqrt (INR d)) in *. rewrite Q.
  replace ((c - 1 / s) * (c + 1 / s)) with ((c ^ 2 * (s * s) - 1) / (s * s)) by (field; lra).
  assert (0 < s * s) by nra. split; intro h.
  - rewrite h. field. lra.
  - apply (Rmult_eq_compat_r (s * s)) in h. field_simplify in h; lra.
Qed.
Lemma power_of_size d a : (0 < d)%nat -> (/ Rpower (INR d) a) ^ 2 * INR d = Rpower (INR d) (1 - 2 * a).
Proof.
  intro H. pose proof (lt_0_INR d H) as D. rewrite <- Rpower_Ropp.
  transitivity (Rpower (INR d) (- a) * Rpower (INR d) (- a) * Rpower (INR d) 1).
  - rewrite Rpower_1 by easy. ring.
  - rewrite <- !Rpower_plus. f_equal. ring.
Qed.
